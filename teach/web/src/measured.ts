// Values that expressions of lessons name.

import type { App } from "./app";
import { t } from "./language";
import type { Analysis, Profiles } from "./types";

export class Measured {
  private analysis: Analysis | undefined;
  private profiles: Profiles | undefined;
  /** The order of the profiles, as text. */
  private order = "";

  constructor(private readonly app: App) {
    app.listen((change) => {
      if (change !== "run") return;
      this.analysis = undefined;
      this.profiles = undefined;
    });
  }

  /** Gives the values of the names in an expression; what has to be asked for is asked for. */
  async look(expression: string): Promise<(name: string) => number | undefined> {
    if (!this.app.summary && !(await this.app.run())) throw new Error(t("The program must run first."));
    const summary = this.app.summary!;
    if (/\banalysis\./.test(expression)) {
      this.analysis ??= await this.app.api.ask("analysis", { ask: "analyze" });
    }
    if (/\b(error|truth|hps|states)\./.test(expression)) {
      const order = { ...this.app.linked.order, top: 1000 };
      const text = JSON.stringify(order);
      if (this.order !== text) this.profiles = undefined;
      this.order = text;
      this.profiles ??= await this.app.api.ask("profiles", { ask: "profiles", order });
    }
    const { analysis, profiles } = this;
    const slots = summary.cpi_stack.reduce((sum, one) => sum + one.slots, 0);
    return (name) => {
      const [group, ...rest] = name.split(".");
      const key = rest.join(".");
      switch (group) {
        case "summary":
          return (summary as unknown as Record<string, number>)[key];
        case "core":
          return summary.core[key];
        case "memory":
          return summary.memory[key];
        case "stack":
          return (summary.cpi_stack.find((one) => one.cause === key)?.slots ?? 0) / slots;
        case "analysis":
          return (analysis as unknown as Record<string, number>)[key];
        case "error":
          return profiles?.opinions.find((one) => one.profiler === key)?.error;
        case "truth":
          return profiles?.truth.find((one) => one.name.split(/\s+/).includes(key))?.share ?? 0;
        case "states":
          return profiles?.states[key];
        case "hps":
          return (profiles?.hps as unknown as Record<string, number> | null | undefined)?.[key];
        default:
          return undefined;
      }
    };
  }
}
