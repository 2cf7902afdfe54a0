// What pages share that draw on a canvas: colours of the page, and sharp pixels.
const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A canvas with sharp pixels, [context, width, height].
const fitted = canvas => {
  const ratio = Math.min(2, devicePixelRatio || 1), wide = canvas.clientWidth, tall = canvas.clientHeight;
  if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(tall * ratio)) { canvas.width = Math.round(wide * ratio); canvas.height = Math.round(tall * ratio); }
  const to = canvas.getContext("2d");
  to.setTransform(ratio, 0, 0, ratio, 0, 0);
  to.clearRect(0, 0, wide, tall);
  to.font = "12px system-ui, sans-serif";
  return [to, wide, tall];
};
