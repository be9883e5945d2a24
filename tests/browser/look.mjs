// Opens pages in a real browser and prints what was seen, as JSON.
// node look.mjs CHROMIUM OUT-DIRECTORY PAGE.html...
import { chromium } from "playwright-core";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [executablePath, out, ...files] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath,
  args: ["--headless", "--no-sandbox", "--disable-gpu"],
});

function facts() {
  const text = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent);
  return {
    title: document.title,
    banner: text(".verdict")[0] ?? null,
    headings: text("h2"),
    data: text("script.dplitmus-finding"),
    width: innerWidth,
    scroll: document.scrollingElement.scrollWidth,
    background: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color,
    charts: [...document.querySelectorAll("svg")].map((drawn) => {
      const box = drawn.getBoundingClientRect();
      const title = drawn.querySelector("title").textContent;
      return { width: box.width, height: box.height, title };
    }),
    mechanisms: text("table.sortable tbody th"),
    certified: [...document.querySelectorAll("table.sortable tbody tr")].map((row) => row.cells[3].dataset.key),
  };
}

const seen = [];
for (const file of files) {
  const url = pathToFileURL(path.resolve(file)).href;
  const name = path.basename(file, ".html");
  for (const look of [
    { name: "desktop", viewport: { width: 1100, height: 900 } },
    { name: "phone", viewport: { width: 375, height: 800 } },
    { name: "dark", viewport: { width: 1100, height: 900 }, colorScheme: "dark" },
    { name: "plain", viewport: { width: 1100, height: 900 }, javaScriptEnabled: false },
    { name: "print", viewport: { width: 800, height: 1100 }, media: "print" },
  ]) {
    const context = await browser.newContext({
      viewport: look.viewport,
      colorScheme: look.colorScheme ?? "light",
      javaScriptEnabled: look.javaScriptEnabled ?? true,
    });
    const page = await context.newPage();
    const problems = [];
    const requests = [];
    page.on("console", (message) => problems.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on("request", (request) => requests.push(request.url()));
    if (look.media) await page.emulateMedia({ media: look.media });
    await page.goto(url);
    const fact = { page: name, look: look.name, ...(await page.evaluate(facts)) };
    await page.screenshot({ path: path.join(out, `${name}-${look.name}.png`), fullPage: true });
    if (look.name === "desktop" && fact.mechanisms.length > 0) {
      fact.sorted = [];
      for (const _ of [1, 2]) {
        await page.click("table.sortable thead th:nth-child(4) button");
        fact.sorted.push((await page.evaluate(facts)).certified);
      }
      await page.click("table.sortable tbody tr:first-child a");
      fact.opened = await page.locator("details[id][open]").count();
    }
    fact.foreign = requests.filter((request) => request !== url);
    fact.problems = problems;
    seen.push(fact);
    await context.close();
  }
}
await browser.close();
console.log(JSON.stringify(seen));
