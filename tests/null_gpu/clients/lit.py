"""A module of Lightning and its Trainer."""
import os

import lightning
import torch

import peaks


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(32, 8)

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = torch.utils.data.TensorDataset(torch.randn(256, 32), torch.zeros(256, dtype=torch.long))
loader = torch.utils.data.DataLoader(data, batch_size=16)
if __name__ == "__main__":
    trainer = lightning.Trainer(max_steps=3, devices=int(os.environ.get("WORLD_SIZE", 1)), logger=False, enable_checkpointing=False,
                                enable_progress_bar=False)
    trainer.fit(Module(), loader)
    peaks.tell()
