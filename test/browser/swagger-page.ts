import type { Locator, Page } from 'playwright-core';

/** Swagger UI, as somebody uses it who wants to try the service. */
export class SwaggerPage {
  /** What went wrong in the browser, in its own words. */
  readonly complaints: string[] = [];
  /** The origin of each request. */
  readonly origins = new Set<string>();

  private constructor(private readonly page: Page) {}

  static async open(page: Page, url: string): Promise<SwaggerPage> {
    const swagger = new SwaggerPage(page);
    await swagger.listen();
    await page.goto(`${url}/docs`);
    await page.locator('.opblock').first().waitFor();
    return swagger;
  }

  async authorize(scheme: string, key: string): Promise<void> {
    await this.page.locator('.auth-wrapper .authorize').click();
    const form = this.page.locator('.auth-container').filter({ hasText: `${scheme} (apiKey)` });
    await form.locator('input').fill(key);
    await form.getByRole('button', { name: 'Apply credentials' }).click();
    await form.getByRole('button', { name: 'Close' }).click();
  }

  /** Opens an operation and executes it with what stands in its form. */
  async execute(operationId: string): Promise<{ status: number; body: unknown; url: string }> {
    const operation = await this.unfold(operationId);
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table .response');
    await answer.waitFor();
    return {
      status: Number(await textOf(answer.locator('.response-col_status'))),
      body: JSON.parse(await textOf(answer.locator('.highlight-code code').first())),
      url: await textOf(operation.locator('.request-url pre')),
    };
  }

  /** Opens an operation, and tells whether it can be tried. */
  async canExecute(operationId: string): Promise<boolean> {
    const operation = await this.unfold(operationId);
    await operation.locator('.responses-wrapper').waitFor();
    return operation.getByRole('button', { name: 'Execute' }).isVisible();
  }

  private async unfold(operationId: string): Promise<Locator> {
    const operation = this.page.locator(`[id$="-${operationId}"]`);
    await operation.locator('.opblock-summary-control').click();
    return operation;
  }

  private async listen(): Promise<void> {
    this.page.on('request', (request) => this.origins.add(originOf(request.url())));
    this.page.on('requestfailed', (request) => this.complaints.push(`failed: ${request.url()}`));
    this.page.on('pageerror', (error) => this.complaints.push(String(error)));
    this.page.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return;
      this.complaints.push(`${message.type()}: ${message.text()}`);
    });
    await this.page.exposeFunction('complain', (what: string) => this.complaints.push(what));
    await this.page.addInitScript(TELL_VIOLATIONS);
  }
}

/** Not every violation of the content security policy gets into the console. */
const TELL_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) =>
  complain('refused by ' + event.violatedDirective + ': ' + event.blockedURI))`;

/** The origin of a URL; for `data:` and the like, which load nothing, the scheme. */
function originOf(url: string): string {
  const { origin, protocol } = new URL(url);
  return origin === 'null' ? protocol : origin;
}

async function textOf(locator: Locator): Promise<string> {
  return (await locator.innerText()).trim();
}
