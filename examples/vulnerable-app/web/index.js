"use strict";

const http = require("http");
const { exec } = require("child_process");
const _ = require("lodash");

const apiKey = "9b74c9897bac770ffc029102a200c5de9b74c9897bac770f";

http.createServer((request, response) => {
  const query = new URL(request.url, "http://localhost").searchParams;
  exec("grep -r " + query.get("term") + " /srv/orders", (error, output) => {
    response.end("<h1>" + query.get("term") + "</h1>" + output);
  });
  eval(query.get("filter"));
  _.defaultsDeep({}, JSON.parse(query.get("settings") || "{}"));
}).listen(8080, () => console.log("key " + apiKey));
