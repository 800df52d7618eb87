"""Hydra: a multirun whose jobs start a program that does nothing, in its basic launcher, with a working directory of outputs for each."""
import subprocess

import hydra


@hydra.main(version_base=None, config_path=None)
def main(_):
    subprocess.run(["true"], check=True)


if __name__ == "__main__":
    main()
