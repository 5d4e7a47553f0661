package agentkey

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// maxText limits uids, boot ids and versions that agents send, in bytes.
const maxText = 200

// problem is a conflict that is also shown on the cluster.
type problem struct {
	clusterID string
	text      string
}

func (p *problem) Error() string { return p.text }

// writeInTurn is Write for one registration at a time.
func (ks *Keys) writeInTurn(ctx context.Context, fn func(ctx context.Context) error) error {
	select {
	case ks.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-ks.turn }()
	return ks.writer.Write(ctx, fn)
}

// Register trades a bootstrap token for an identity. The same key and cluster
// uid may register again with the same token, even when it has no uses left.
// Unauthorized, Forbidden (tags, name), Invalid (proof), Conflict.
func (ks *Keys) Register(ctx context.Context, bearer string, r Registration) (Registered, error) {
	if err := r.check(); err != nil {
		return Registered{}, err
	}
	var made identity.CreatedToken
	var enrolled Enrolled
	var token identity.Token
	err := ks.writeInTurn(ctx, func(ctx context.Context) (err error) {
		if token, err = ks.bootstrapToken(ctx, bearer); err != nil {
			return err
		}
		if enrolled, err = ks.enroll(ctx, token, r); err != nil {
			return err
		}
		made, err = ks.mintDeploy(ctx, enrolled.ClusterID, enrolled.Name)
		return err
	})
	if err != nil {
		err = ks.show(ctx, err)
	}
	ks.contacts.note(token.ClusterID, Contact{At: ks.now(), Source: r.Source, AgentVersion: r.AgentVersion, Err: err})
	if err != nil {
		return Registered{}, err
	}
	ks.credentials.Remember(made.Token)
	ks.boots.Delete(enrolled.ClusterID)
	keys, signatures, err := ks.vouch(ctx)
	if err != nil {
		return Registered{}, err
	}
	return Registered{
		ClusterID: enrolled.ClusterID, ClusterName: enrolled.Name, Pending: enrolled.Pending,
		DeployToken: made.Secret, DeployTokenExpiresAt: made.ExpiresAt, SigningKeys: keys,
		Signature: signatures[0], More: signatures[1:],
	}, nil
}

func (r Registration) check() error {
	if len(r.PublicKey) != ed25519.PublicKeySize {
		return errcode.New(errcode.Invalid, "public key: an agent's key is an Ed25519 key of %d bytes", ed25519.PublicKeySize)
	}
	for _, text := range []string{r.ClusterUID, r.BootID} {
		if text == "" || len(text) > maxText {
			return errcode.New(errcode.Invalid, "an agent registers with the uid of kube-system and a boot id")
		}
	}
	if len(r.AgentVersion) > maxText || len(r.Tags) > 100 {
		return errcode.New(errcode.Invalid, "an agent registers with at most 100 tags and a version of %d bytes", maxText)
	}
	if !ed25519.Verify(r.PublicKey, []byte("axle-register\n"+r.ClusterUID+"\n"+r.BootID), r.Proof) {
		return errcode.New(errcode.Invalid, "the proof was not signed with the agent's key")
	}
	return nil
}

// bootstrapToken returns the token of a bearer that has not expired. It returns an
// expired one beside the error.
func (ks *Keys) bootstrapToken(ctx context.Context, bearer string) (identity.Token, error) {
	hash := bearertoken.Hash(bootstrap.Secret(bearer)) // older agents send all of it
	t, err := ks.stores.Tokens.TokenByHash(ctx, hash[:])
	if err == nil {
		err = ks.credentials.Stands(ctx, t)
	}
	if err != nil && !errcode.Is(err, errcode.NotFound) && !errcode.Is(err, errcode.Unauthorized) {
		return identity.Token{}, err
	}
	if err != nil || t.Kind != identity.TokenBootstrap || t.Bootstrap == nil || t.Expired(ks.now()) {
		return t, errcode.New(errcode.Unauthorized, "the bootstrap token is not known, has expired, or ended with the login or token that made it; make a new one and install the agent with it")
	}
	return t, nil
}

// enroll finds or creates the identity of a registration.
func (ks *Keys) enroll(ctx context.Context, token identity.Token, r Registration) (Enrolled, error) {
	known, err := ks.stores.Keys.AgentKeyByPublicKey(ctx, r.PublicKey)
	if err == nil {
		enrolled, err := ks.enrollAgain(ctx, token, known, r)
		if !errcode.Is(err, errcode.NotFound) {
			return enrolled, err
		}
		// The cluster was deleted since; the agent registers as a new one.
		if err := ks.stores.Keys.DeleteAgentKey(ctx, known.ClusterID); err != nil {
			return Enrolled{}, err
		}
	} else if !errcode.Is(err, errcode.NotFound) {
		return Enrolled{}, err
	}
	if err := ks.use(ctx, token); err != nil {
		return Enrolled{}, err
	}
	if token.ClusterID != "" {
		if err := ks.releaseKey(ctx, token, r); err != nil {
			return Enrolled{}, err
		}
		r.Name = token.ClusterName
	}
	if err := checkTerms(*token.Bootstrap, r.Name, r.Tags); err != nil {
		return Enrolled{}, err
	}
	enrolled, err := ks.clusters.Enroll(ctx, Enrollment{
		ClusterID: token.ClusterID, Name: r.Name, ProjectID: token.Bootstrap.ProjectID, Tags: r.Tags,
		ClusterUID: r.ClusterUID, AgentVersion: r.AgentVersion,
		Pending: token.Bootstrap.NeedsApproval, FleetWide: token.Bootstrap.FleetWide, By: token.OwnerName,
	})
	if err != nil {
		return Enrolled{}, err
	}
	return enrolled, ks.stores.Keys.PutAgentKey(ctx, Key{
		ClusterID: enrolled.ClusterID, ClusterName: enrolled.Name, PublicKey: r.PublicKey,
		ClusterUID: r.ClusterUID, TokenID: token.ID, BootID: r.BootID, RegisteredAt: ks.now(),
	})
}

// use takes one use of a token. Unauthorized when it has none left.
func (ks *Keys) use(ctx context.Context, token identity.Token) error {
	terms := *token.Bootstrap
	if terms.UsesLeft <= 0 {
		return errcode.New(errcode.Unauthorized, "the bootstrap token was used up; make a new one and install the agent with it")
	}
	terms.UsesLeft--
	token.Bootstrap = &terms
	return ks.credentials.Update(ctx, token)
}

// enrollAgain answers an agent whose key is known: the answer was lost, or the
// agent was reinstalled with its old Secret.
func (ks *Keys) enrollAgain(ctx context.Context, token identity.Token, known Key, r Registration) (Enrolled, error) {
	if known.ClusterUID != r.ClusterUID {
		return Enrolled{}, &problem{known.ClusterID, "two clusters use one agent key: the key of cluster " + known.ClusterName +
			" was seen in another cluster; delete the agent's identity Secret there and register it again"}
	}
	if known.TokenID != token.ID && (token.Bootstrap.UsesLeft <= 0 || (token.ClusterID != "" && token.ClusterID != known.ClusterID)) {
		return Enrolled{}, errcode.New(errcode.Conflict, "this agent is registered as cluster %s already", known.ClusterName)
	}
	known, err := ks.shiftBoot(ctx, known, r.BootID)
	if err != nil {
		return Enrolled{}, err
	}
	return ks.clusters.Enroll(ctx, Enrollment{
		ClusterID: known.ClusterID, ClusterUID: known.ClusterUID, AgentVersion: r.AgentVersion, By: token.OwnerName,
	})
}

// releaseKey deletes the key of a fixed cluster to allow a new one: the same cluster
// may come back with a new key, for example when its agent's namespace was deleted.
func (ks *Keys) releaseKey(ctx context.Context, token identity.Token, r Registration) error {
	known, err := ks.stores.Keys.AgentKey(ctx, token.ClusterID)
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if known.ClusterUID != r.ClusterUID {
		return &problem{known.ClusterID, "a second cluster tried to register as " + known.ClusterName +
			"; delete cluster " + known.ClusterName + " first if it was replaced"}
	}
	tokens, err := ks.stores.Tokens.ClusterTokens(ctx, token.ClusterID)
	if err != nil {
		return err
	}
	return ks.credentials.Delete(ctx, slices.DeleteFunc(tokens, func(t identity.Token) bool { return t.Kind != identity.TokenDeploy })...)
}

// deployLifetime is how long a deploy token lives; agents renew at half.
const deployLifetime = 24 * time.Hour

// maxDeployTokens limits the deploy tokens of one cluster whose answers were lost.
const maxDeployTokens = 8

// mintDeploy creates a deploy token. Its predecessors stay valid until it is
// used, so that a lost answer cannot lock an agent out.
func (ks *Keys) mintDeploy(ctx context.Context, clusterID, clusterName string) (identity.CreatedToken, error) {
	tokens, err := ks.stores.Tokens.ClusterTokens(ctx, clusterID)
	if err != nil {
		return identity.CreatedToken{}, err
	}
	made := ks.credentials.Mint(identity.Token{Kind: identity.TokenDeploy, Name: "deploy " + clusterName, ClusterID: clusterID, ClusterName: clusterName}, deployLifetime)
	kept := 0
	var old []identity.Token
	for _, t := range tokens { // newest first
		if t.Kind != identity.TokenDeploy {
			continue
		}
		if made.CreatedAt <= t.CreatedAt { // a clock that stepped back
			made.CreatedAt = t.CreatedAt + 1
		}
		if kept++; kept >= maxDeployTokens || t.Expired(made.CreatedAt) {
			old = append(old, t)
		}
	}
	if err := ks.credentials.Delete(ctx, old...); err != nil {
		return identity.CreatedToken{}, err
	}
	return made, ks.credentials.Insert(ctx, made.Token)
}

// show records a problem on its cluster and turns it into a Conflict.
func (ks *Keys) show(ctx context.Context, err error) error {
	var p *problem
	if !errors.As(err, &p) {
		return err
	}
	noted := ks.writer.Write(ctx, func(ctx context.Context) error {
		k, err := ks.stores.Keys.AgentKey(ctx, p.clusterID)
		if err != nil {
			return err
		}
		k.ConflictAt = ks.now()
		if err := ks.stores.Keys.PutAgentKey(ctx, k); err != nil {
			return err
		}
		return ks.clusters.SetIdentityProblem(ctx, p.clusterID, p.text)
	})
	if noted != nil {
		ks.log.Warn("a conflict of identities cannot be noted", logkey.Cluster, p.clusterID, logkey.Error, noted)
	}
	return errcode.New(errcode.Conflict, "%s", p.text)
}
