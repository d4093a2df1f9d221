# task: relu
# expect: extract_error
# log: Python without a call of load_inline
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
