/** Whether a score is one of those that are meant. */
export type IsMeant = (home: number, away: number) => boolean;

/** Goals of one side; more are too rare to count. */
const GOALS = Array.from({ length: 13 }, (_, goals) => goals);

/** The chances of scores where each side's goals follow a Poisson distribution. */
export function scoreChances(homeGoals: number, awayGoals: number): (isMeant: IsMeant) => number {
  const scores = GOALS.flatMap((home) =>
    GOALS.map((away) => ({
      home,
      away,
      chance: poisson(home, homeGoals) * poisson(away, awayGoals),
    })),
  );
  return (isMeant) =>
    scores
      .filter(({ home, away }) => isMeant(home, away))
      .reduce((sum, { chance }) => sum + chance, 0);
}

function poisson(count: number, mean: number): number {
  return count === 0 ? Math.exp(-mean) : (poisson(count - 1, mean) * mean) / count;
}
