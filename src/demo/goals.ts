/** Chances in a football match where each side's goals follow a Poisson distribution. */
export interface GoalChances {
  readonly home: number;
  readonly draw: number;
  readonly away: number;
  readonly bothScore: number;
  /** More goals in all than the line says. */
  over(line: number): number;
}

/** Goals of one side beyond this are too rare to count. */
const MOST_GOALS = 12;

export function goalChances(homeGoals: number, awayGoals: number): GoalChances {
  const scores = allScores(homeGoals, awayGoals);
  const chance = (holds: (score: Score) => boolean) =>
    scores.filter(holds).reduce((sum, { probability }) => sum + probability, 0);
  return {
    home: chance(({ home, away }) => home > away),
    draw: chance(({ home, away }) => home === away),
    away: chance(({ home, away }) => home < away),
    bothScore: chance(({ home, away }) => home > 0 && away > 0),
    over: (line) => chance(({ home, away }) => home + away > line),
  };
}

interface Score {
  readonly home: number;
  readonly away: number;
  readonly probability: number;
}

function allScores(homeGoals: number, awayGoals: number): Score[] {
  const counts = Array.from({ length: MOST_GOALS + 1 }, (_, goals) => goals);
  return counts.flatMap((home) =>
    counts.map((away) => ({
      home,
      away,
      probability: poisson(home, homeGoals) * poisson(away, awayGoals),
    })),
  );
}

function poisson(count: number, mean: number): number {
  return count === 0 ? Math.exp(-mean) : (poisson(count - 1, mean) * mean) / count;
}
