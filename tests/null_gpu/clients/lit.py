"""A module of Lightning and its Trainer."""
import sys

import lightning
import torch


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(32, 8)

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = torch.utils.data.TensorDataset(torch.randn(64, 32), torch.zeros(64, dtype=torch.long))
trainer = lightning.Trainer(max_steps=3, accelerator="auto", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=16))
if torch.cuda.is_available():
    sys.stdout.write(f"peaks {0} {torch.cuda.max_memory_allocated()} {torch.cuda.max_memory_reserved()}\n")  # one write, of several ranks
