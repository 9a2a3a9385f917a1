import type { MarketType } from '../markets/market.schema.js';

/** What can be bet on. The chance is without a provider's margin. */
type Selection = readonly [key: string, name: string, chance: number, line?: string];

const DRAW = 0.27;

/**
 * The markets that each provider offers on a match.
 * @param edge what is added to the chances of the home team and of many goals: 0 to 0.15
 */
export function kindsOf(homeTeam: string, awayTeam: string, edge: number) {
  const home = 0.41 + edge;
  const away = 1 - DRAW - home;
  return [
    overUnder(2.5, 0.491 + edge),
    kind('mo', 'MATCH_ODDS', 'Match Odds', [
      ['home', homeTeam, home],
      ['draw', 'Draw', DRAW],
      ['away', awayTeam, away],
    ]),
    kind('btts', 'BTTS', 'Both Teams to Score', [
      ['yes', 'Yes', 0.47 + edge],
      ['no', 'No', 0.53 - edge],
    ]),
    kind('dc', 'DOUBLE_CHANCE', 'Double Chance', [
      ['1x', `${homeTeam} or Draw`, home + DRAW],
      ['12', `${homeTeam} or ${awayTeam}`, home + away],
      ['x2', `Draw or ${awayTeam}`, DRAW + away],
    ]),
    kind('uoht', 'UNDER_OVER_HT', 'Under/Over Half-Time', [
      ...overAndUnder(0.5, 0.65 + edge),
      ...overAndUnder(1.5, 0.29 + edge),
      ...overAndUnder(2.5, 0.09 + edge / 2),
    ]),
    overUnder(1.5, 0.73 + edge),
    overUnder(3.5, 0.27 + edge),
  ];
}

function kind(key: string, type: MarketType, name: string, selections: readonly Selection[]) {
  return { key, type, name, selections };
}

function overUnder(line: number, over: number) {
  return kind(`ou${line * 10}`, 'OVER_UNDER', `Over/Under ${line}`, overAndUnder(line, over));
}

function overAndUnder(goals: number, over: number): Selection[] {
  const line = String(goals);
  return [
    [`over-${line}`, `Over ${line}`, over, line],
    [`under-${line}`, `Under ${line}`, 1 - over, line],
  ];
}
