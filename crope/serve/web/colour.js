"use strict";
// Colours of numbers. One hue for amounts; the circle of hues for phases, the accent where a phase is 0.

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const themeListeners = [];
const isDark = () => (document.documentElement.style.colorScheme || (prefersDark.matches ? "dark" : "light")) === "dark";

function setTheme(theme) {
  document.documentElement.style.colorScheme = theme ?? "";
  const button = byId("theme");
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  for (const listener of themeListeners) listener();
}

// [r, g, b] from 0 to 255 of a lightness, chroma and hue in degrees (OKLCH).
function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos(hue * Math.PI / 180), b = chroma * Math.sin(hue * Math.PI / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s].map((x) => {
    const encoded = x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, encoded)));
  });
}

const kAccentHue = 270;
const paper = () => (isDark() ? [25, 27, 32] : [255, 255, 255]);
const mix = (from, to, share) => from.map((x, i) => Math.round(x + (to[i] - x) * share));
const rgb = (colour) => `rgb(${colour.join(" ")})`;

// A table over [0, 1], so that a picture costs one look-up a cell.
function amountColours(steps) {
  const strong = isDark() ? [158, 180, 255] : [38, 66, 176];
  return Array.from({ length: steps }, (_, i) => mix(paper(), strong, i / (steps - 1)));
}

// A table over (-pi, pi].
function phaseColours(steps) {
  const lightness = isDark() ? 0.74 : 0.64;
  return Array.from({ length: steps }, (_, i) => oklch(lightness, 0.135, kAccentHue + 360 * (i / steps - 0.5)));
}

// Percent of the accent behind a token: none for a certain one, all there is for one in a thousand.
const surpriseShade = (logProbability) => 50 * Math.min(1, Math.max(0, -logProbability / Math.LN10 / 3));
