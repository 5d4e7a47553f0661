// An application on express-openid-connect, with back-channel logout. Its arguments are the
// issuer, the client's id and secret, and its scope; PORT is its port. It prints its address once it listens;
// the page / shows who is logged in as JSON.
import express from "express";
import openid from "express-openid-connect";

const [issuerBaseURL, clientID, clientSecret, scope] = process.argv.slice(2);

// A store of sessions that ended, as the library wants one.
const ended = new Map();
const store = {
  get: (id, done) => done(null, ended.get(id)),
  set: (id, value, done) => done(null, void ended.set(id, value)),
  destroy: (id, done) => done(null, void ended.delete(id)),
};

const app = express();
const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  const baseURL = `http://127.0.0.1:${server.address().port}`;
  app.use(
    openid.auth({
      issuerBaseURL, baseURL, clientID, clientSecret, secret: "signs the cookies of this application",
      authRequired: false, idpLogout: true, backchannelLogout: { store },
      authorizationParams: { response_type: "code", scope },
    }),
  );
  app.get("/", async (req, res) => {
    const on = req.oidc.isAuthenticated();
    res.json({ on, user: on ? req.oidc.user : null, refresh: on ? req.oidc.refreshToken : null });
  });
  app.get("/refresh", async (req, res, next) => {
    try {
      await req.oidc.accessToken.refresh();
      res.json({ refreshed: true });
    } catch (error) {
      res.status(401).json({ refreshed: false, error: error.error ?? String(error) });
    }
  });
  app.use((error, _req, res, _next) => res.status(error.status ?? 500).json({ error: error.error ?? String(error), description: error.error_description ?? "" }));
  console.log(baseURL);
});
