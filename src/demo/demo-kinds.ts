import type { MarketType } from '../markets/market.schema.js';
import type { GoalChances } from './goals.js';

export interface Fixture {
  readonly number: number;
  readonly home: string;
  readonly away: string;
  /** Goals that each side is expected to score. */
  readonly homeGoals: number;
  readonly awayGoals: number;
}

export interface Selection {
  readonly key: string;
  readonly name: string;
  readonly chance: number;
  readonly line?: string;
}

interface Kind {
  readonly key: string;
  readonly type: MarketType;
  readonly name: string;
  readonly selections: (match: Match) => Selection[];
}

export interface Match extends Fixture {
  readonly full: GoalChances;
  readonly firstHalf: GoalChances;
}

/** The markets that each provider offers on a match. */
export const KINDS: readonly Kind[] = [
  overUnder(2.5),
  {
    key: 'mo',
    type: 'MATCH_ODDS',
    name: 'Match Odds',
    selections: ({ home, away, full }) => [
      { key: 'home', name: home, chance: full.home },
      { key: 'draw', name: 'Draw', chance: full.draw },
      { key: 'away', name: away, chance: full.away },
    ],
  },
  {
    key: 'btts',
    type: 'BTTS',
    name: 'Both Teams to Score',
    selections: ({ full }) => [
      { key: 'yes', name: 'Yes', chance: full.bothScore },
      { key: 'no', name: 'No', chance: 1 - full.bothScore },
    ],
  },
  {
    key: 'dc',
    type: 'DOUBLE_CHANCE',
    name: 'Double Chance',
    selections: ({ home, away, full }) => [
      { key: '1x', name: `${home} or Draw`, chance: full.home + full.draw },
      { key: '12', name: `${home} or ${away}`, chance: full.home + full.away },
      { key: 'x2', name: `Draw or ${away}`, chance: full.draw + full.away },
    ],
  },
  {
    key: 'uoht',
    type: 'UNDER_OVER_HT',
    name: 'Under/Over Half-Time',
    selections: ({ firstHalf }) => [0.5, 1.5, 2.5].flatMap((line) => goalLine(line, firstHalf)),
  },
  overUnder(1.5),
  overUnder(3.5),
];

function overUnder(line: number): Kind {
  return {
    key: `ou${line * 10}`,
    type: 'OVER_UNDER',
    name: `Over/Under ${line}`,
    selections: ({ full }) => goalLine(line, full),
  };
}

function goalLine(line: number, chances: GoalChances): Selection[] {
  const over = chances.over(line);
  return [
    { key: `over-${line}`, name: `Over ${line}`, chance: over, line: String(line) },
    { key: `under-${line}`, name: `Under ${line}`, chance: 1 - over, line: String(line) },
  ];
}
