"use strict";
// Shows the times of a page in the reader's zone where the reader wants that; the page itself has them in UTC.
(() => {
  const times = [...document.querySelectorAll("time[datetime]")].filter((one) => !Number.isNaN(Date.parse(one.dateTime)));
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!times.length || !zone || zone === "UTC") return;
  const utc = times.map((one) => one.textContent);
  const heads = [...document.querySelectorAll("h2, th, nav a")].filter((one) => one.textContent.includes("(UTC)"));
  const inUtc = heads.map((one) => one.textContent);
  const two = (number) => String(number).padStart(2, "0");
  const local = (one, index) => {
    const at = new Date(one.dateTime), text = utc[index];
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
    const seconds = /\d\d:\d\d:\d\d/.test(text) ? `:${two(at.getSeconds())}` : "";
    const fraction = (text.match(/\d\d:\d\d:\d\d(\.\d+)/) || ["", ""])[1];
    const sign = (text.match(/^[~\s]*(?:after )?/) || [""])[0];
    return `${sign}${/\d{4}-\d\d-\d\d/.test(text) ? day + " " : ""}${clock}${seconds}${fraction}`;
  };
  const button = document.createElement("button");
  button.type = "button";
  button.className = "zone";
  let isLocal = false;
  try { isLocal = localStorage.getItem("aiscorr-zone") === "local"; } catch { /* it may be forbidden to keep anything */ }
  const show = () => {
    times.forEach((one, index) => {
      one.textContent = isLocal ? local(one, index) : utc[index];
      one.title = isLocal ? `${utc[index]} UTC` : `${local(one, index)} in ${zone}`;
    });
    heads.forEach((one, index) => { one.textContent = isLocal ? inUtc[index].replace("(UTC)", `(${zone})`) : inUtc[index]; });
    button.textContent = isLocal ? `times in ${zone}` : "times in UTC";
    button.setAttribute("aria-label", isLocal ? "show times in UTC" : `show times in ${zone}`);
    const foot = document.querySelector("footer");
    if (foot) foot.textContent = foot.textContent.replace(/Times are in .*\.$/, isLocal ? `Times are in ${zone}; those in sentences and drawings are in UTC.` : "Times are in UTC.");
  };
  button.addEventListener("click", () => {
    isLocal = !isLocal;
    try { localStorage.setItem("aiscorr-zone", isLocal ? "local" : "utc"); } catch { /* as above */ }
    show();
  });
  const nav = document.querySelector("nav.site");
  if (nav) nav.append(button);
  show();
})();
