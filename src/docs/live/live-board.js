/** The markets of the watched ids on the page: a section for each id, a card for each provider. */
export class Board {
  /** Of each watched id, by its name and value: the section, and the markets on it by `_id`. */
  #groups = new Map();

  constructor(root) {
    this.root = root;
    root.replaceChildren();
  }

  /** The caller's rule: on `reset` drop that id's markets; put `changed` by `_id`; delete `removed`. */
  apply({ reset, changed, removed, ...scope }) {
    const [[name, id]] = Object.entries(scope);
    const group = this.#group(name, id);
    if (reset) {
      const kept = new Set(changed.map(({ _id }) => _id));
      for (const old of group.markets.keys()) if (!kept.has(old)) remove(group, old);
    }
    for (const old of removed) remove(group, old);
    for (const market of changed) put(group, market);
    group.empty.hidden = group.markets.size > 0;
  }

  #group(name, id) {
    const key = JSON.stringify([name, id]);
    if (!this.#groups.has(key)) {
      const providers = element('div', { className: 'providers' });
      const empty = element('p', { textContent: 'No markets.' });
      const title = `${name[0].toUpperCase()}${name.slice(1, -'Id'.length)} ${id}`;
      const heading = element('h2', { textContent: title });
      this.root.append(element('section', {}, heading, empty, providers));
      this.#groups.set(key, { providers, empty, markets: new Map(), cards: new Map() });
    }
    return this.#groups.get(key);
  }
}

function put(group, market) {
  const shown = group.markets.get(market._id);
  const item = shown?.item ?? element('article', { className: 'market' });
  const before = shown ? runnersOf(shown.market) : [];
  const prices = new Map(before.map(({ runnerId, price }) => [runnerId, price]));
  item.dataset.id = market._id;
  item.replaceChildren(
    element(
      'h4',
      {},
      element('span', { textContent: market.name }),
      element('span', {
        className: 'moment',
        textContent: [market.marketMoment, market.marketStatus]
          .filter((word) => word !== 'OPEN')
          .join(' · '),
      }),
    ),
    element(
      'ul',
      {},
      ...runnersOf(market).map((runner) => runnerLine(runner, prices.get(runner.runnerId))),
    ),
  );
  if (shown && shown.market.provider !== market.provider) remove(group, market._id);
  if (!item.isConnected) cardOf(group, market.provider).append(item);
  group.markets.set(market._id, { market, item });
}

/** A stored market may lack any field. */
function runnersOf({ runners = [] }) {
  return runners;
}

function runnerLine({ name, price }, before) {
  const moved = before === undefined || price === before ? '' : price > before ? 'up' : 'down';
  return element(
    'li',
    {},
    element('span', { textContent: name }),
    element('span', { className: `price ${moved}`, textContent: price?.toFixed(2) ?? '–' }),
  );
}

function cardOf(group, provider) {
  let card = group.cards.get(provider);
  if (!card) {
    card = element('div', { className: 'provider' }, element('h3', { textContent: provider }));
    group.cards.set(provider, card);
  }
  if (!card.isConnected) group.providers.append(card);
  return card;
}

function remove(group, id) {
  const shown = group.markets.get(id);
  if (!shown) return;
  const card = shown.item.parentElement;
  shown.item.remove();
  group.markets.delete(id);
  if (!card.querySelector('.market')) card.remove();
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
