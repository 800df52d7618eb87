# Stores the peaks of torch's allocator when the interpreter ends, and who owns its tensors when it is out of memory. Lets ranks send
# each other objects: torch adds and compares their sizes on the card, and this hook does so on the host. core/python.cpp runs this in the program's
# interpreter. Objects that Python's collector knows are asked for their type only, since some do something when asked for more. Sizes are those of
# storages, each counted once, first match. A tensor with a graph counts as an activation: Python's object of it lives as long as the graph.
import atexit, ctypes, gc, sys, types
def initialized():
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_initialized() else None
def peaks():
    torch = initialized()
    if torch is None:
        return
    note = ctypes.CDLL(None).nullgpu_note_allocator
    for card in range(torch.cuda.device_count()):
        stats = torch.cuda.memory_stats(card)
        note(ctypes.c_uint(card), *(ctypes.c_uint64(stats.get(kind + "_bytes.all.peak", 0)) for kind in ("allocated", "reserved")))
def owners(card, *_):
    torch = initialized()
    found = {}
    def own(kind, tensor):
        tensor = getattr(tensor, "_local_tensor", tensor)
        if isinstance(tensor, torch.Tensor) and tensor.device == torch.device("cuda", card) and tensor.layout == torch.strided:
            storage = tensor.untyped_storage()
            found.setdefault(storage.data_ptr(), (kind, storage.nbytes()))
    objects = gc.get_objects()
    tensors = [each for each in objects if issubclass(type(each), torch.Tensor)]
    parameters = [each for each in tensors if isinstance(each, torch.nn.Parameter)]
    for each in parameters:
        own(0, each)
    for each in parameters:
        own(1, each.grad)
    for each in objects:
        if issubclass(type(each), torch.optim.Optimizer):
            for state in each.state.values():
                for value in state.values():
                    own(2, value)
    for each in tensors:
        if each.grad_fn is None:
            own(3, each)
    sizes = [sum(size for kind, size in found.values() if kind == one) for one in range(4)]
    held = torch.cuda.memory_stats(card).get("allocated_bytes.all.current", 0)
    ctypes.CDLL(None).nullgpu_note_owners(ctypes.c_uint(card), (ctypes.c_uint64 * 5)(*sizes, max(held - sum(sizes), 0)))
def told(*given):
    try:
        owners(*given)
    except Exception:
        pass
def objects():
    torch, c10d = sys.modules.get("torch"), sys.modules.get("torch.distributed.distributed_c10d")
    if torch is None or c10d is None:
        return
    class Host(types.ModuleType):
        cat = staticmethod(lambda parts: torch.cat([each.cpu() for each in parts]).to(parts[0].device))
        sum = staticmethod(lambda sizes: sizes.cpu().sum())
        def __getattr__(self, name):
            return getattr(torch, name)
    def on_host(each):
        return each.cpu() if isinstance(each, torch.Tensor) else each
    c10d.torch = Host("torch")
    c10d.enumerate = lambda sizes: enumerate(on_host(sizes))
    c10d.max = lambda *given: max(*given, key=on_host)
atexit.register(peaks)
objects()
if initialized():
    initialized()._C._cuda_attach_out_of_memory_observer(told)
