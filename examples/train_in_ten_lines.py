"""Training from Python in ten lines: machines learn to copy, and the best of them answers.

python -m examples.train_in_ten_lines
"""

import lantm


def main(epochs: int = 300) -> lantm.Trained:
    """Trains two seeds on short inputs, in a minute on a laptop, and asks the better one."""
    run = lantm.train("copy", recipe="demo", seeds=2, epochs=epochs, lengths=(2, 16), on_epoch=tell)
    for label, scores in run.scores(scales=(1, 2), problems=320).items():
        print(f"{label} the training lengths: {scores.coarse} percent of the answers are right, per seed")
    solution = run.best.solve("hello, world")
    print(f"{solution.problem} -> {solution.answer}")
    return run


def tell(progress: lantm.Progress) -> None:
    """Prints the loss of every seed, now and then."""
    if progress.tested:
        print(f"epoch {progress.epoch}: loss {progress.loss}")


if __name__ == "__main__":
    main()
