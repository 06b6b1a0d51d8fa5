// Does everything on the site of apps/movies that its users do. SCREENSHOTS: a folder for pictures of its pages.
export { default } from "../../../../apps/movies/services/web/tests/visit.mjs";
