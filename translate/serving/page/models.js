// What is known of the models of the server.

/**
 * @param {{source: string, targets: string[], name: string, about: string, origin: string, revision: string, license: string}[]} models
 * @param {(code: string) => string} nameOf a language.
 */
export function showModels(models, nameOf) {
  const items = models.map(({ source, targets, name, about, origin, revision, license }) => {
    const facts = [about, origin && !about.includes(origin) ? origin : "", revision.slice(0, 12), license];
    const item = document.createElement("li");
    const title = document.createElement("b");
    title.textContent = `${nameOf(source)} \u2192 ${targets.map(nameOf).join(", ")}: ${name}`;
    item.append(title, ...facts.filter(Boolean).flatMap((fact) => [document.createElement("br"), fact]));
    return item;
  });
  document.querySelector("#models ul").replaceChildren(...items);
}
