// A form made from the schema. Each of its parts is { element, show(value, answer) }, which shows a value of an answer;
// what a reader changes goes the way of the sliders: `change` and `remove`.
let fieldsMade = 0;
const toml = value => Array.isArray(value) ? `[${value.map(toml).join(", ")}]`
  : typeof value === "object" ? `{ ${Object.entries(value).map(([key, one]) => `${quotedKey(key)} = ${toml(one)}`).join(", ")} }`
  : typeof value === "string" ? JSON.stringify(value) : String(value);
const quotedKey = name => /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
const joined = (key, name) => key ? `${key}.${quotedKey(String(name))}` : quotedKey(String(name));
const isPlainList = all => all.every(one => is(one, "array") && !is(alternatives(one.items ?? {})[0] ?? {}, "array"));
// What a reader has typed, as the text of a change. A list may be written with commas alone.
const typed = (text, all) => {
  if (isPlainList(all) && !text.startsWith("[")) return `[${text.split(",").map(one => one.trim()).filter(Boolean).map(one => is(alternatives(all[0].items)[0], "string") ? JSON.stringify(one) : one).join(", ")}]`;
  const isFree = all.some(one => is(one, "string") && !one["x-quantity"]);
  return isFree && !/^(?!(true|false|inf|nan)$)[A-Za-z][^"'\\]*$/.test(text) ? JSON.stringify(text) : text;
};
const shownText = (value, all) => value === undefined ? "" : Array.isArray(value) ? isPlainList(all) ? value.join(", ") : toml(value) : typeof value === "object" ? toml(value) : String(value);
const button = (words, act, given = {}) => { const made = node("button", { type: "button", ...given }, words); made.addEventListener("click", act); return made; };
const options = (select, given) => select.replaceChildren(...given.map(([value, words]) => node("option", { value }, words)));
const isFile = (name, one) => name === "file" || name === "opportunities" || (name === "timeline" && is(one, "string"));

// A field with its name, what it means, and what is wrong with it.
const labelled = (key, title, one, field) => {
  const id = field.id = `field-${++fieldsMade}`, about = node("p", { className: "soft small", id: `${id}-about` }, firstSentence(one.description) + (field.tagName === "SELECT" ? longDefault(one) : "")), said = node("p", { className: "bad small", hidden: true });
  about.title = plainText(one.description);
  field.dataset.key = key;
  field.setAttribute("aria-describedby", about.id);
  return {
    about,
    element: node("div", { className: "key" }, node("label", { htmlFor: id }, title), field, about, said),
    say(value, answer) {
      const wrong = answer.mistakes.find(line => line.includes(` ${key}: `));
      said.textContent = wrong?.slice(wrong.indexOf(` ${key}: `) + key.length + 3) ?? "";
      said.hidden = !wrong;
      field.toggleAttribute("aria-invalid", !!wrong);
      field.parentElement.classList.toggle("set", value !== undefined);
    },
  };
};
// A key with one value: a choice if its values are words, else a text with its unit.
const leaf = (key, name, one, needed = false) => {
  const all = alternatives(one), choice = all.every(wordsOf), usual = otherwise(one), example = all.find(other => other.examples)?.examples[0];
  const field = choice ? node("select") : node("input", { type: "text", autocomplete: "off", spellcheck: false, placeholder: usual ?? (example === undefined ? "" : `e.g. ${shownText(example, all)}`) });
  const words = choice ? all.flatMap(other => wordsOf(other).map(word => ({ word, said: other.description }))) : [];
  if (choice) options(field, [["", needed && !usual ? "" : defaultWords(one)], ...words.map(({ word }) => [String(word), yes(word)])]);
  if (isFile(name, one)) field.setAttribute("list", "file-names");
  const row = labelled(key, name, one, field), means = row.about.textContent;
  // Without an example the whole description shows what to write.
  if (!choice && !field.placeholder && row.about.title.length < 200) row.about.textContent = row.about.title;
  if (!choice && usual && all.some(other => other["x-quantity"])) row.about.append(` Such as “${example}”.`);
  let now;
  field.addEventListener("change", () => {
    const text = field.value.trim();
    if (text !== "") change(key, typed(text, all)); else if (now !== undefined) remove(key);
  });
  return {
    element: row.element,
    show(value, answer) {
      now = value;
      if (document.activeElement !== field || choice) field.value = choice ? words.find(({ word }) => String(word).toLowerCase() === String(value).toLowerCase())?.word ?? "" : shownText(value, all);
      const said = choice && words.find(({ word }) => word === value)?.said;
      if (choice) row.about.textContent = said && said !== one.description ? `${means} ${yes(value)}: ${firstSentence(said)}` : means;
      row.say(value, answer);
    },
  };
};

// The keys of a table.
const members = (key, one) => {
  const rows = membersOf(one).map(name => [name, part(joined(key, name), name, one.properties[name], (one.required ?? []).includes(name))]);
  return {
    element: node("div", { className: "keys-of" }, ...rows.map(([, row]) => row.element)),
    show(value, answer) { rows.forEach(([name, row]) => row.show(value?.[name], answer)); },
  };
};
// What is folded is made when it is first opened.
const folded = (key, title, make) => {
  const count = node("span", { className: "soft small" }), element = node("details", { className: "params" }, node("summary", {}, title, " ", count));
  let inside = null, now = [undefined, { mistakes: [] }];
  const open = () => {
    if (inside || !element.open) return;
    inside = make();
    element.append(inside.element);
    inside.show(...now);
  };
  element.dataset.key = key;
  element.addEventListener("toggle", open);
  return {
    element,
    show(...given) {
      now = given;
      const set = given[0] === undefined ? 0 : Object.keys(given[0]).length;
      count.textContent = Array.isArray(given[0]) || !set ? "" : `${set} set`;
      inside?.show(...given);
    },
  };
};
// A table that may be absent. One with keys that it must have is added with examples of them.
const tablePart = (key, name, one) => folded(key, name, () => {
  const [of] = alternatives(one), inside = members(key, of), needs = of.required?.length;
  const add = button(`Add ${name}`, () => change(key, toml(exampleOf(one)))), less = button(`Remove ${name}`, () => remove(key));
  return {
    element: node("div", {}, node("p", { className: "soft small" }, firstSentence(one.description ?? of.description)), add, inside.element, less),
    show(value, answer) {
      add.hidden = value !== undefined;
      less.hidden = value === undefined;
      inside.element.hidden = value === undefined && !!needs;
      inside.show(value, answer);
    },
  };
});
// Tables by name, and a field for the name of another.
const named = (key, name, one) => {
  const rows = new Map(), element = node("div", {}), [each] = alternatives(one.additionalProperties);
  const field = node("input", { type: "text", autocomplete: "off", "aria-label": `Name of another ${name}` });
  const begun = () => ({ ...exampleOf(one.additionalProperties), ...(name === "link" ? { rate: exampleOf(each.properties.rate), delay: exampleOf(each.properties.delay) } : {}) });
  const more = node("div", { className: "actions" }, field, button(`Add a ${name}`, () => { if (field.value.trim()) change(joined(key, field.value.trim()), toml(begun())); field.value = ""; }));
  return {
    element: node("div", { "data-key": key }, element, more),
    show(value, answer) {
      const names = Object.keys(value ?? {});
      for (const old of [...rows.keys()]) if (!names.includes(old)) { rows.get(old).element.remove(); rows.delete(old); }
      for (const one of names) {
        if (!rows.has(one)) {
          const at = joined(key, one);
          rows.set(one, folded(at, `${name} ${one}`, () => {
            const inside = members(at, each), less = button(`Remove ${name} ${one}`, () => remove(at));
            inside.element.append(less);
            return inside;
          }));
          element.append(rows.get(one).element);
        }
        rows.get(one).show(value[one], answer);
      }
    },
  };
};
// A list of tables.
const listed = (key, name, one) => {
  const element = node("div", {});
  let rows = [], now;
  const add = button(`Add a ${name}`, () => key === "flow" ? by("add").click() : change(key, toml([...now ?? [], exampleOf(one.items)])));
  return {
    element: node("div", { "data-key": key }, element, add),
    show(value, answer) {
      now = value;
      const items = value ?? [];
      if (rows.length !== items.length) {
        rows = items.map((_, i) => folded(`${key}.${i}`, "", () => {
          const inside = part(`${key}.${i}`, `${name} ${i + 1}`, one.items, true, true), less = button(`Remove ${name} ${i + 1}`, () => remove(`${key}.${i}`), { hidden: key === "flow" && rows.length === 1 });
          return { element: node("div", {}, inside.element, less), show: inside.show };
        }));
        element.replaceChildren(...rows.map(row => row.element));
      }
      rows.forEach((row, i) => { row.element.firstChild.firstChild.textContent = `${name} ${items[i].name ?? i + 1}`; row.show(items[i], answer); });
    },
  };
};

// A choice among kinds of values, and what belongs to the chosen kind.
// `wrap` puts the keys of the kind into something of its own.
const kinds = (key, name, one, needed, title = name, wrap = body => ({ element: body, fill() {} })) => {
  const select = node("select"), row = labelled(key, title, one, select), body = node("div", { className: "keys-of" }), means = row.about.textContent;
  const choices = alternatives(one).flatMap(of => wordsOf(of)?.map(word => ({ of, word, words: yes(word) })) ?? [{ of, words: isTables(of) ? "several" : kindOf(of) ?? (firstSentence(of.description ?? "one value").replace(/\.$/, "").toLowerCase()) }]);
  options(select, [...needed ? [] : [["", defaultWords(one, "none")]], ...choices.map(({ words }, i) => [i, words])]);
  let now, chosen = null, inside = null;
  const find = value => value === undefined ? undefined : choices.find(({ of, word }) => word === undefined ? fits(of, value) : word === value);
  select.addEventListener("change", () => {
    if (select.value === "") { remove(key); return; }
    const { of, word } = choices[+select.value], before = chosen && isTable(chosen.of) ? { value: now, of: chosen.of } : null;
    if (name === "traffic") carry(key, of);
    change(key, toml(word ?? (isTables(of) ? [before?.value ?? exampleOf(of.items)] : exampleOf(of, before))));
  });
  const editor = ({ of, word }) => word !== undefined ? null : isTable(of) ? members(key, of) : isTables(of) ? listed(key, name, of) : leaf(key, "value", of, true);
  const place = wrap(body);
  row.element.append(place.element);
  return {
    element: row.element,
    show(value, answer) {
      const found = find(value);
      now = value;
      if (found !== chosen) {
        chosen = found;
        inside = found ? editor(found) : null;
        body.replaceChildren(...inside ? [inside.element] : []);
      }
      place.fill(inside);
      select.value = found ? choices.indexOf(found) : "";
      row.about.textContent = found && kindOf(found.of) ? firstSentence(found.of.description) : means;
      row.say(value, answer);
      inside?.show(value, answer);
    },
  };
};
// Traffic without TCP has no controller, and all other has one.
const carry = (key, of) => {
  const cc = key.replace(/traffic$/, "cc"), has = arranged?.tree.flow[+key.split(".")[1]]?.cc !== undefined, needs = of["x-carriage"] !== "datagrams";
  if (has && !needs) remove(cc); else if (!has && needs) change(cc, "cubic");
};
// A controller and its parameters.
const controllerPart = (key, name, one, needed) => {
  const select = controllerSelect(), row = labelled(key, name, one, select), body = node("div", { className: "keys-of" }), common = alternatives(one).find(isTable).properties;
  if (!needed) select.prepend(node("option", { value: "" }, defaultWords(one, "none")));
  let id, rows = [];
  row.element.append(body);
  select.addEventListener("change", () => select.value ? change(key, select.value) : remove(key));
  return {
    element: row.element,
    show(value, answer) {
      const next = value === undefined ? "" : controllerName(value.name ?? value);
      if (next !== id) {
        id = next;
        const own = (controllers.get(id)?.params ?? []).map(param => [param.name, paramSchema(param)]);
        rows = id ? [...own, ...Object.entries(common).filter(([name]) => name !== "name")].map(([name, of]) => [name, leaf(`${key}.${name}`, name, of)]) : [];
        body.replaceChildren(...rows.map(([, made]) => made.element));
      }
      select.value = id;
      row.say(value, answer);
      rows.forEach(([name, made]) => made.show(value?.[name], answer));
    },
  };
};
// The part of the form for a key. `bare` is an item of a list, which is there.
const part = (key, name, one, needed = false, bare = false) => {
  const all = alternatives(one);
  if (all.some(other => other["x-names"])) return controllerPart(key, name, one, needed);
  if (!all.some(other => isTable(other) || isTables(other))) return leaf(key, name, one, needed);
  const [only] = all;
  if (all.length > 1 || kindOf(only)) return kinds(key, name, one, needed);
  if (isTables(only)) return listed(key, name, only);
  return only.additionalProperties ? named(key, name, only) : bare ? members(key, only) : tablePart(key, name, one);
};
