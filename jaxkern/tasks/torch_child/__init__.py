"""What runs in the torch worker: the only code of jaxkern that imports torch.

`python -m jaxkern.tasks.torch_child` imports torch once and forks for every
job, so that no job sees another one's memory. Nothing here imports jax or the
rest of jaxkern, and nothing outside imports this.
"""
