// What the page carries packed: its scripts, lists, scenarios, and the simulator. This script is not packed, and starts them.
document.addEventListener("DOMContentLoaded", async () => {
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(await unpacked("scripts"));
  document.head.append(script);
});
