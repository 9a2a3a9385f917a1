/** What the service is measured against: the same answers by `node:http` and the driver alone, without any check. */
import { MongoClient } from 'mongodb';
import { createServer } from 'node:http';

const FIELDS = [
  '_id createdAt updatedAt provider name marketId eventId marketMoment marketStatus marketType',
  'runners fixtureId',
];
const projection = Object.fromEntries(
  FIELDS.flatMap((names) => names.split(' ')).map((name) => [name, 1]),
);

const [uri = '', port = '0'] = process.argv.slice(2);
const client = new MongoClient(uri, { maxPoolSize: 32 });
const markets = client.db().collection('markets');

async function page(target: string) {
  const { pathname, searchParams } = new URL(target, 'http://localhost');
  const [, , , , by, id = ''] = pathname.split('/');
  const filter: Record<string, string> = { [by === 'provider' ? 'eventId' : 'fixtureId']: id };
  for (const name of ['marketMoment', 'marketType']) {
    const value = searchParams.get(name);
    if (value) filter[name] = value;
  }
  const number = Number(searchParams.get('page') ?? 1);
  const take = Number(searchParams.get('take') ?? 10);
  const [data, itemCount] = await Promise.all([
    markets
      .find(filter, { projection })
      .sort({ _id: 1 })
      .skip((number - 1) * take)
      .limit(take)
      .toArray(),
    markets.countDocuments(filter),
  ]);
  const pageCount = Math.ceil(itemCount / take);
  const meta = {
    page: number,
    take,
    itemCount,
    pageCount,
    hasPreviousPage: number > 1 && pageCount > 0,
    hasNextPage: number < pageCount,
  };
  return { data, meta };
}

const server = createServer((request, response) => {
  page(request.url ?? '').then(
    (answer) => {
      response.setHeader('Content-Type', 'application/json; charset=utf-8');
      response.end(JSON.stringify(answer));
    },
    (error: unknown) => {
      console.error(error);
      response.writeHead(500).end();
    },
  );
});
await client.connect();
server.listen(Number(port), '127.0.0.1', () => process.send?.('ready'));
process.on('disconnect', () => process.exit(0));
