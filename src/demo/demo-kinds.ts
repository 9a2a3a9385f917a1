import type { MarketType } from '../markets/market.schema.js';
import type { IsMeant } from './goals.js';

interface Selection {
  readonly key: string;
  readonly name: string;
  readonly wins: IsMeant;
  readonly line?: string;
}

interface Kind {
  readonly key: string;
  readonly type: MarketType;
  readonly name: string;
  readonly selections: readonly Selection[];
}

/** The markets that each provider offers on a match. */
export function kindsOf(homeTeam: string, awayTeam: string): Kind[] {
  return [
    overUnder(2.5),
    {
      key: 'mo',
      type: 'MATCH_ODDS',
      name: 'Match Odds',
      selections: [
        { key: 'home', name: homeTeam, wins: (home, away) => home > away },
        { key: 'draw', name: 'Draw', wins: (home, away) => home === away },
        { key: 'away', name: awayTeam, wins: (home, away) => home < away },
      ],
    },
    {
      key: 'btts',
      type: 'BTTS',
      name: 'Both Teams to Score',
      selections: [
        { key: 'yes', name: 'Yes', wins: (home, away) => home > 0 && away > 0 },
        { key: 'no', name: 'No', wins: (home, away) => home === 0 || away === 0 },
      ],
    },
    {
      key: 'dc',
      type: 'DOUBLE_CHANCE',
      name: 'Double Chance',
      selections: [
        { key: '1x', name: `${homeTeam} or Draw`, wins: (home, away) => home >= away },
        { key: '12', name: `${homeTeam} or ${awayTeam}`, wins: (home, away) => home !== away },
        { key: 'x2', name: `Draw or ${awayTeam}`, wins: (home, away) => home <= away },
      ],
    },
    {
      key: 'uoht',
      type: 'UNDER_OVER_HT',
      name: 'Under/Over Half-Time',
      selections: [0.5, 1.5, 2.5].flatMap(overAndUnder),
    },
    overUnder(1.5),
    overUnder(3.5),
  ];
}

function overUnder(line: number): Kind {
  const key = `ou${line * 10}`;
  return { key, type: 'OVER_UNDER', name: `Over/Under ${line}`, selections: overAndUnder(line) };
}

function overAndUnder(goals: number): Selection[] {
  const line = String(goals);
  return [
    { key: `over-${line}`, name: `Over ${line}`, wins: (home, away) => home + away > goals, line },
    {
      key: `under-${line}`,
      name: `Under ${line}`,
      wins: (home, away) => home + away < goals,
      line,
    },
  ];
}
