// Shows the state of the run. All text comes in by textContent: nothing of it is ever markup.
"use strict";

const kEvery = 2000;

function element(name, text, style) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (style) made.className = style;
  return made;
}

function badge(word, style) { return element("span", word, `badge ${style}`); }

function claim(one) {
  const made = element("article", undefined, `claim ${one.style}`);
  const header = element("header");
  header.append(badge(one.verdict, one.style));
  for (const mark of one.marks) header.append(badge(mark, "open"));
  header.append(element("h3", one.name));
  const law = element("p", undefined, "law");
  law.append(element("code", one.text));
  made.append(header, law);
  const said = element("dl", undefined, "said");
  for (const line of one.lines) said.append(element("dt", line.label), element("dd", line.text, line.warns ? "warns" : line.label === "result" ? "result" : ""));
  made.append(said);
  return made;
}

function bar(one) {
  const made = element("div", undefined, "bar");
  const progress = element("progress");
  progress.max = Math.max(1, one.planned);
  progress.value = one.done;
  progress.setAttribute("aria-label", `${one.kind} trials`);
  const left = one.done < one.planned && one.left ? `; about ${one.left} of trials to come` : "";
  made.append(element("span", one.kind), progress, element("span", `${one.done} of ${one.planned} trials${left}`));
  return made;
}

function trial(one, about, now) {
  const made = element("section", undefined, "live-trial");
  made.append(element("h3", `Trial ${one.trial}: ${one.what}`));
  made.append(element("p", about(one, now), "quiet"));
  if (!one.log.trim()) return made;
  const log = element("pre", one.log);
  log.tabIndex = 0;
  log.setAttribute("role", "region");
  log.setAttribute("aria-label", `What trial ${one.trial} wrote last`);
  made.append(log);
  return made;
}

function ranFor(one, now) {
  return `attempt ${one.attempt}, for ${Math.max(0, Math.round(now - one.started))} s${one.devices ? ` on ${one.devices}` : ""}`;
}

function part(title, made) {
  if (!made.length) return [];
  return [element("h2", title), ...made];
}

function study(one, now) {
  const made = element("section", undefined, "study");
  made.append(element("h1", one.study));
  if (one.null_cards) made.append(element("p", "All numbers come from null cards, which compute nothing.", "notice"));
  made.append(...one.progress.map(bar));
  made.append(...part("Verdicts so far", one.criteria.map(claim)));
  made.append(...part("Running now", one.running.map(trial_ => trial(trial_, ranFor, now))));
  made.append(...part("Newest trials that did not end well", one.failed.map(trial_ => trial(trial_, failed => `${failed.status}: ${failed.reason}`, now))));
  return made;
}

function keepPlaces(studies) {
  const places = [...studies.querySelectorAll("pre")].map(log => log.scrollTop + log.clientHeight >= log.scrollHeight - 4 ? Infinity : log.scrollTop);
  return () => studies.querySelectorAll("pre").forEach((log, i) => { log.scrollTop = Math.min(places[i] ?? Infinity, log.scrollHeight); });
}

function show(state) {
  const line = document.getElementById("state"), studies = document.getElementById("studies");
  line.className = "quiet";
  if (state.error) line.textContent = `The results cannot be read: ${state.error}`;
  else if (state.ended !== null) line.textContent = `The run has ended with exit code ${state.ended}. The report page in the results folder has everything.`;
  else line.textContent = "The run goes on. Verdicts may change until every trial that is planned has ended.";
  const again = keepPlaces(studies), focused = document.activeElement && document.activeElement.getAttribute("aria-label");
  studies.replaceChildren(...state.studies.map(one => study(one, state.now)));
  again();
  if (focused) for (const log of studies.querySelectorAll("pre")) if (log.getAttribute("aria-label") === focused) log.focus();
  document.title = state.studies.map(one => one.study).join(", ") + (state.ended === null ? " – running" : " – ended");
}

async function look() {
  try {
    const answer = await fetch("/state.json", { cache: "no-store" });
    const state = await answer.json();
    show(state);
    if (state.ended !== null) return;
  } catch (error) {
    const line = document.getElementById("state");
    line.className = "lost";
    line.textContent = "The run does not answer any more: it has ended, or was ended. What was measured is in its results folder.";
    return;
  }
  setTimeout(look, kEvery);
}

look();
