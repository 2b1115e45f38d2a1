import torch, numpy as np
from grammarlm.kernels.cpu.apply_mask import *
K={torch.float32:(apply_mask_32,-8388608)}
def apply_mask_(logits, mask, *, rows=None):
    if logits.requires_grad or not logits.is_cpu: raise ValueError
    k,inf=K[logits.dtype]
    b,v=logits.shape; rs,cs=logits.stride()
    if type(mask) is not np.ndarray or mask.dtype is not I or mask.shape[0]<b or not mask.flags.carray: raise ValueError
    k(logits.data_ptr(),rs,cs,v,mask,0,0,b,inf)
I=np.dtype(np.int32)
