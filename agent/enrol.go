package agent

import (
	"context"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"

	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/agent/identity"
	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// protocolVersion is the version number of api/agent/v1.
const protocolVersion = 2

// enrol returns the agent's identity, and creates one with the bootstrap token at the
// first start. It tries until it has one or the context ends, and shows on the health
// page what it waits for. fresh is true after a registration.
func (a *Agent) enrol(ctx context.Context) (id *identity.Identity, fresh bool, err error) {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		id, fresh, err = a.tryEnrol(ctx)
		if err == nil || ctx.Err() != nil {
			return id, fresh, err
		}
		if errcode.Is(err, errcode.Invalid) {
			return nil, false, err // waiting does not fix a wrong flag
		}
		a.page.say("identity", err)
		a.cfg.Log.Warn("the agent has no identity yet", logkey.Error, err)
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-a.cfg.Clock.After(max(backoff.Next(), errcode.RetryAfter(err))):
		}
	}
}

func (a *Agent) tryEnrol(ctx context.Context) (*identity.Identity, bool, error) {
	id, err := a.identities.Load(ctx)
	if err != nil {
		return nil, false, err
	}
	if id != nil && id.Registered() {
		// Use the present uid, so that a copy of this cluster can be told apart.
		if uid, err := kube.UID(ctx, a.kube.Client); err == nil {
			id.ClusterUID = uid
		}
		id, fresh := registeredAgain(ctx, a, id)
		a.page.say("identity", nil)
		return id, fresh, nil
	}
	uid, err := kube.UID(ctx, a.kube.Client)
	if err != nil {
		return nil, false, err
	}
	if id == nil || id.ClusterUID != uid || id.HubURL != a.cfg.HubURL {
		if id, err = identity.New(a.cfg.HubURL, uid); err != nil {
			return nil, false, err
		}
		// Store it first: if the answer is lost, the next try uses the same key.
		if err := a.identities.Save(ctx, id); err != nil {
			return nil, false, err
		}
	}
	if err := a.register(ctx, id); err != nil {
		return nil, false, err
	}
	a.page.say("identity", nil)
	return id, true, nil
}

func (a *Agent) register(ctx context.Context, id *identity.Identity) error {
	token, named, err := bootstrap.Read(a.cfg.TokenFile)
	if err != nil {
		return err
	}
	key, err := id.Key()
	if err != nil {
		return err
	}
	client, err := hubclient.New(hubclient.Config{URL: a.cfg.HubURL, Transport: a.transport, Clock: a.cfg.Clock})
	if err != nil {
		return err
	}
	answer, err := client.Register(ctx, token, key, &agentv1.RegisterRequest{
		ClusterUid: id.ClusterUID, Name: a.cfg.ClusterName, BootId: a.bootID,
		AgentVersion: buildinfo.Version, ProtocolVersion: protocolVersion,
	})
	if err != nil {
		return err
	}
	id.ClusterID, id.ClusterName = answer.GetClusterId(), answer.GetClusterName()
	id.Token, id.ExpiresAt = answer.GetDeployToken(), answer.GetDeployTokenExpiresAt()
	id.ReceivedAt = clock.Micros(a.cfg.Clock.Now())
	id.TokenName = tokenName(token)
	id.SigningKeys, id.FirstHeard = hubclient.Keys(answer.GetSigningKeys()), !named
	if err := a.identities.Save(ctx, id); err != nil {
		return err
	}
	a.cfg.Log.Info("registered the cluster", logkey.Cluster, id.ClusterName)
	if !named {
		a.cfg.Log.Warn(bootstrap.Unnamed, logkey.Cluster, id.ClusterName)
	}
	return nil
}
