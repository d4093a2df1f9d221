"""From tasks to verified completions, over several turns."""
