#pragma once
#include "../../../jaxkern_torch/torch.h"
