/** What the service is measured against: the same routes as NestJS with Mongoose is usually written, with a key for each. */
import {
  Controller,
  DefaultValuePipe,
  Get,
  Inject,
  Injectable,
  Module,
  Param,
  ParseIntPipe,
  Query,
  UnauthorizedException,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getConnectionToken, InjectModel, MongooseModule } from '@nestjs/mongoose';
import type { Request } from 'express';
import type { Connection, Model } from 'mongoose';
import { hashKey, keyIdOf } from '../src/api-keys/key-form.js';
import { Market, MarketSchema } from '../src/markets/market.schema.js';
import { MARKET_PROJECTION } from '../src/markets/market-view.js';

const [uri = '', port = '0'] = process.argv.slice(2);

@Injectable()
class KeyGuard implements CanActivate {
  constructor(@Inject(getConnectionToken()) private readonly connection: Connection) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const inQuery = request.query['api_key'];
    const key = request.get('X-API-Key') ?? (typeof inQuery === 'string' ? inQuery : '');
    const keys = this.connection.collection<{ _id: string; hash: string }>('api_keys');
    const record = await keys.findOne({ _id: keyIdOf(key) ?? '' });
    if (record?.hash !== hashKey(key)) throw new UnauthorizedException();
    return true;
  }
}

@Controller('v1/markets/market')
@UseGuards(KeyGuard)
class UsualController {
  constructor(@InjectModel(Market.name) private readonly markets: Model<Market>) {}

  @Get(':by/:id')
  async page(
    @Param('by') by: string,
    @Param('id') id: string,
    @Query('marketMoment') marketMoment: string | undefined,
    @Query('marketType') marketType: string | undefined,
    @Query('page', new DefaultValuePipe(1), ParseIntPipe) page: number,
    @Query('take', new DefaultValuePipe(10), ParseIntPipe) take: number,
  ) {
    const filter: Record<string, string> = {
      [by === 'provider' ? 'eventId' : 'fixtureId']: id,
      ...(marketMoment && { marketMoment }),
      ...(marketType && { marketType }),
    };
    const [data, itemCount] = await Promise.all([
      this.markets
        .find(filter, MARKET_PROJECTION)
        .sort({ _id: 1 })
        .skip((page - 1) * take)
        .limit(take)
        .lean(),
      this.markets.countDocuments(filter),
    ]);
    const pageCount = Math.ceil(itemCount / take);
    const hasPreviousPage = page > 1 && pageCount > 0;
    const meta = {
      page,
      take,
      itemCount,
      pageCount,
      hasPreviousPage,
      hasNextPage: page < pageCount,
    };
    return { data, meta };
  }
}

@Module({
  imports: [
    MongooseModule.forRoot(uri),
    MongooseModule.forFeature([{ name: Market.name, schema: MarketSchema }]),
  ],
  controllers: [UsualController],
})
class UsualModule {}

const app = await NestFactory.create(UsualModule, { logger: ['error'] });
await app.listen(Number(port), '127.0.0.1');
process.on('disconnect', () => process.exit(0));
