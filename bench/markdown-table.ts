const NUMBER = /^[\d.,]+$/;

/** A table in Markdown that is one to the eye, too: padded, with columns of numbers to the right. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const columns = head.map((title, index) => {
    const cells = rows.map((row) => row[index] ?? '');
    return {
      width: Math.max(3, ...[title, ...cells].map((text) => text.length)),
      isNumber: cells.some((text) => NUMBER.test(text)),
    };
  });
  const lineOf = (cells: readonly string[]) => {
    const padded = columns.map(({ width, isNumber }, index) => {
      const text = cells[index] ?? '';
      return isNumber ? text.padStart(width) : text.padEnd(width);
    });
    return `| ${padded.join(' | ')} |`;
  };
  const rule = columns.map(({ width, isNumber }) => '-'.repeat(width - 1) + (isNumber ? ':' : '-'));
  return [lineOf(head), lineOf(rule), ...rows.map(lineOf)].join('\n');
}
