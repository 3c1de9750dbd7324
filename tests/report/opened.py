"""A page that is open in a browser, as tests look at it."""

from typing import Any


class Opened:
    """An open page, with all that it fetched and complained about."""

    def __init__(self, page: Any):
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def settle(self) -> None:
        """Waits until what was asked for is drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def glow(self, step: int) -> str:
        """How strongly a symbol glows."""
        return self.page.locator(f'.cell[data-step="{step}"]').first.evaluate(
            "cell => cell.style.getPropertyValue('--glow')"
        )

    def ink(self, selector: str) -> int:
        """How many pixels of a canvas are not empty."""
        return self.page.locator(selector).first.evaluate(
            """canvas => {
                const copy = document.createElement("canvas");
                [copy.width, copy.height] = [canvas.width, canvas.height];
                const context = copy.getContext("2d", { willReadFrequently: true });
                context.drawImage(canvas, 0, 0);
                const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
                let painted = 0;
                for (let at = 3; at < data.length; at += 4) painted += data[at] > 0;
                return painted;
            }"""
        )

    def picture(self, selector: str) -> str:
        """What a canvas shows, to be compared."""
        return self.page.locator(selector).first.evaluate("canvas => canvas.toDataURL()")
