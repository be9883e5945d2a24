// A mechanism in another language: reads {"input": x, "count": n, "seed": s}, writes n lines of JSON.
//
//     dplitmus audit 'program:node examples/libraries/noise.js' --epsilon 1 --pair 0 1
//
// Laplace noise of scale 1/2 where the claim needs scale 1: the true epsilon is 2.
const request = JSON.parse(require("fs").readFileSync(0, "utf8"));
const laplace = () => Math.log(1 - Math.random()) - Math.log(1 - Math.random());
for (let i = 0; i < request.count; i++) {
  console.log(JSON.stringify(request.input + laplace() / 2));
}
