import { Board } from './live-board.js';
import { followStream } from './live-stream.js';

const form = document.getElementById('watch');
const state = document.getElementById('state');
const age = document.getElementById('age');
/** A text area for each name of an id. */
const areas = [...form.querySelectorAll('textarea')];

let stop = new AbortController();
/** When everything written up to then was on the board, by the clock of this page; unknown before the first proof. */
let provenAt;

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void watch();
});

// A link names what to watch, never the key: its field has no name, so that no form is sent with it.
const given = new URLSearchParams(location.search);
const namesIds = areas.some(({ name }) => given.has(name));
for (const area of areas) {
  if (namesIds) area.value = given.getAll(area.name).join('\n');
}
// A link to ids of all moments has no `marketMoment`.
if (namesIds || given.has('marketMoment')) {
  form.marketMoment.value = given.get('marketMoment') ?? '';
}
if (form.key.value) {
  form.requestSubmit();
  document.getElementById('choice').open = !matchMedia('(max-width: 40rem)').matches;
}
setInterval(showAge, 200);

async function watch() {
  stop.abort();
  stop = new AbortController();
  const { signal } = stop;
  const board = new Board(document.getElementById('board'));
  const query = queryOf();
  history.replaceState(null, '', `?${query}`);
  provenAt = undefined;
  show('waiting', 'Connecting …');
  try {
    const refusal = await followStream({
      url: `../v1/markets/stream?${query}`,
      key: form.key.value.trim(),
      signal,
      onEvent: (type, data) => signal.aborted || onEvent(board, type, data),
      onWait: (why) => signal.aborted || show('waiting', `Reconnecting … ${why}`.trim()),
    });
    show('refused', refusal);
  } catch (error) {
    if (!signal.aborted) show('refused', `This page has failed: ${error.message}`);
  }
}

function queryOf() {
  const query = new URLSearchParams();
  for (const { name, value } of areas) {
    const ids = value.split('\n').filter((id) => id !== '');
    for (const id of new Set(ids)) query.append(name, id);
  }
  const moment = form.marketMoment.value;
  if (moment) query.append('marketMoment', moment);
  return query;
}

function onEvent(board, type, data) {
  if (type === 'changes') data.data.forEach((group) => board.apply(group));
  // Changes say nothing of what is still on its way.
  if (type === 'current' || type === 'late') {
    provenAt = performance.now() - data.ageMs;
    show(type, type === 'late' ? 'Late' : 'Current');
  }
}

function show(name, text) {
  if (state.textContent !== text) state.textContent = text;
  state.dataset.state = name;
  showAge();
}

function showAge() {
  const seconds = (performance.now() - provenAt) / 1_000;
  age.textContent = provenAt === undefined ? '' : `as of ${seconds.toFixed(1)} s ago`;
}
