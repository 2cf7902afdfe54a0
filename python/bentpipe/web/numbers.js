// Numbers as the page writes them: three digits, and the prefixes of rates and times.
const digits = (value, most = 3) => +value.toPrecision(most) >= 1000 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(most));
const rate = bps => bps >= 1e9 ? `${digits(bps / 1e9, 4)} Gbit/s` : bps >= 1e6 ? `${digits(bps / 1e6, 4)} Mbit/s` : `${digits(bps / 1e3, 4)} kbit/s`;
const time = s => s >= 1 ? `${digits(s, 4)} s` : `${digits(s * 1e3, 4)} ms`;
const percent = part => `${digits(100 * part)} %`;
