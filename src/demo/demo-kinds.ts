import type { MarketType } from '../markets/market.schema.js';

interface Selection {
  readonly key: string;
  readonly name: string;
  /** Without a provider's margin. */
  readonly chance: number;
  readonly line?: string;
}

interface Kind {
  readonly key: string;
  readonly type: MarketType;
  readonly name: string;
  readonly selections: readonly Selection[];
}

const DRAW = 0.27;

/**
 * The markets that each provider offers on a match.
 * @param edge what is added to the chances of the home team and of many goals: 0 to 0.15
 */
export function kindsOf(homeTeam: string, awayTeam: string, edge: number): Kind[] {
  const home = 0.41 + edge;
  const away = 1 - DRAW - home;
  return [
    overUnder(2.5, 0.491 + edge),
    {
      key: 'mo',
      type: 'MATCH_ODDS',
      name: 'Match Odds',
      selections: [
        { key: 'home', name: homeTeam, chance: home },
        { key: 'draw', name: 'Draw', chance: DRAW },
        { key: 'away', name: awayTeam, chance: away },
      ],
    },
    {
      key: 'btts',
      type: 'BTTS',
      name: 'Both Teams to Score',
      selections: [
        { key: 'yes', name: 'Yes', chance: 0.47 + edge },
        { key: 'no', name: 'No', chance: 0.53 - edge },
      ],
    },
    {
      key: 'dc',
      type: 'DOUBLE_CHANCE',
      name: 'Double Chance',
      selections: [
        { key: '1x', name: `${homeTeam} or Draw`, chance: home + DRAW },
        { key: '12', name: `${homeTeam} or ${awayTeam}`, chance: home + away },
        { key: 'x2', name: `Draw or ${awayTeam}`, chance: DRAW + away },
      ],
    },
    {
      key: 'uoht',
      type: 'UNDER_OVER_HT',
      name: 'Under/Over Half-Time',
      selections: [
        ...overAndUnder(0.5, 0.65 + edge),
        ...overAndUnder(1.5, 0.29 + edge),
        ...overAndUnder(2.5, 0.09 + edge / 2),
      ],
    },
    overUnder(1.5, 0.73 + edge),
    overUnder(3.5, 0.27 + edge),
  ];
}

function overUnder(line: number, over: number): Kind {
  return {
    key: `ou${line * 10}`,
    type: 'OVER_UNDER',
    name: `Over/Under ${line}`,
    selections: overAndUnder(line, over),
  };
}

function overAndUnder(goals: number, over: number): Selection[] {
  const line = String(goals);
  return [
    { key: `over-${line}`, name: `Over ${line}`, chance: over, line },
    { key: `under-${line}`, name: `Under ${line}`, chance: 1 - over, line },
  ];
}
