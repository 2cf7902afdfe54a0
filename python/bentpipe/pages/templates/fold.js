// Sections that fold: closed at first on a phone, but for the one that the address names; all open on paper.
(() => {
  const parts = [...document.querySelectorAll("details.part")];
  const reveal = () => {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = named?.closest("details.part"); part; part = part.parentElement?.closest("details.part")) part.open = true;
    if (named) named.scrollIntoView();
  };
  if (matchMedia("(max-width: 40rem)").matches) for (const part of parts) part.open = false;
  addEventListener("hashchange", reveal);
  reveal();
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = parts.filter(part => !part.open);
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of closed) part.open = false; });
})();
