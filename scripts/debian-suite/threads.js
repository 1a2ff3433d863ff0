const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
if (isMainThread) {
  const done = [1, 2, 3].map(n => new Promise(ok => new Worker(__filename, { workerData: n }).on('message', ok)));
  Promise.all(done).then(sums => console.log(sums.join(' ')));
} else {
  let sum = 0; for (let i = 0; i < 100000 * workerData; i++) sum = (sum * 31 + i) % 1000003;
  parentPort.postMessage(sum);
}
