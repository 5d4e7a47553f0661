package identity

import (
	"context"
	"crypto/ed25519"
	"errors"

	"github.com/axle-cd/axle/hub/event"
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
func (d *Directory) writeInTurn(ctx context.Context, fn func(ctx context.Context) error) error {
	select {
	case d.door <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-d.door }()
	return d.writer.Write(ctx, fn)
}

// Register trades a bootstrap token for an identity. The same key and cluster
// uid may register again with the same token, even when it has no uses left.
// Unauthorized, Forbidden (tags, name), Invalid (proof), Conflict.
func (d *Directory) Register(ctx context.Context, bearer string, r Registration) (Registered, error) {
	if err := r.check(); err != nil {
		return Registered{}, err
	}
	var made CreatedToken
	var enrolled Enrolled
	err := d.writeInTurn(ctx, func(ctx context.Context) error {
		token, err := d.bootstrapToken(ctx, bearer)
		if err != nil {
			return err
		}
		if enrolled, err = d.enroll(ctx, token, r); err != nil {
			return err
		}
		made, err = d.mintDeploy(ctx, enrolled.ClusterID, enrolled.Name)
		return err
	})
	if err != nil {
		return Registered{}, d.show(ctx, err)
	}
	d.tokens.put(made.Token)
	d.boots.Delete(enrolled.ClusterID)
	keys, signatures, err := d.vouch(ctx)
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

// bootstrapToken returns the token of a bearer that has not expired.
func (d *Directory) bootstrapToken(ctx context.Context, bearer string) (Token, error) {
	hash := bearertoken.Hash(bootstrap.Secret(bearer)) // older agents send all of it
	t, err := d.store.TokenByHash(ctx, hash[:])
	if err == nil {
		err = d.stands(ctx, t, d.now())
	}
	if err != nil && !errcode.Is(err, errcode.NotFound) && !errcode.Is(err, errcode.Unauthorized) {
		return Token{}, err
	}
	if err != nil || t.Kind != TokenBootstrap || t.Bootstrap == nil || t.expired(d.now()) {
		return Token{}, errcode.New(errcode.Unauthorized, "the bootstrap token is not known, has expired, or ended with the login or token that made it; make a new one and install the agent with it")
	}
	return t, nil
}

// enroll finds or creates the identity of a registration.
func (d *Directory) enroll(ctx context.Context, token Token, r Registration) (Enrolled, error) {
	known, err := d.store.AgentKeyByPublicKey(ctx, r.PublicKey)
	if err == nil {
		enrolled, err := d.enrollAgain(ctx, token, known, r)
		if !errcode.Is(err, errcode.NotFound) {
			return enrolled, err
		}
		// The cluster was deleted since; the agent registers as a new one.
		if err := d.store.DeleteAgentKey(ctx, known.ClusterID); err != nil {
			return Enrolled{}, err
		}
	} else if !errcode.Is(err, errcode.NotFound) {
		return Enrolled{}, err
	}
	if token.Bootstrap.UsesLeft <= 0 {
		return Enrolled{}, errcode.New(errcode.Unauthorized, "the bootstrap token was used up; make a new one and install the agent with it")
	}
	if token.ClusterID != "" {
		if err := d.releaseKey(ctx, token, r); err != nil {
			return Enrolled{}, err
		}
		r.Name = token.ClusterName
	}
	if err := token.Bootstrap.check(r.Name, r.Tags); err != nil {
		return Enrolled{}, err
	}
	enrolled, err := d.clusters.Enroll(ctx, Enrollment{
		ClusterID: token.ClusterID, Name: r.Name, ProjectID: token.Bootstrap.ProjectID, Tags: r.Tags,
		ClusterUID: r.ClusterUID, AgentVersion: r.AgentVersion,
		Pending: token.Bootstrap.NeedsApproval, By: token.OwnerName,
	})
	if err != nil {
		return Enrolled{}, err
	}
	terms := *token.Bootstrap
	terms.UsesLeft--
	token.Bootstrap = &terms
	if err := d.store.UpdateToken(ctx, token); err != nil {
		return Enrolled{}, err
	}
	if err := event.Append(ctx, change(token)); err != nil {
		return Enrolled{}, err
	}
	return enrolled, d.store.PutAgentKey(ctx, AgentKey{
		ClusterID: enrolled.ClusterID, ClusterName: enrolled.Name, PublicKey: r.PublicKey,
		ClusterUID: r.ClusterUID, TokenID: token.ID, BootID: r.BootID, RegisteredAt: d.now(),
	})
}

// enrollAgain answers an agent whose key is known: the answer was lost, or the
// agent was reinstalled with its old Secret.
func (d *Directory) enrollAgain(ctx context.Context, token Token, known AgentKey, r Registration) (Enrolled, error) {
	if known.ClusterUID != r.ClusterUID {
		return Enrolled{}, &problem{known.ClusterID, "two clusters use one agent key: the key of cluster " + known.ClusterName +
			" was seen in another cluster; delete the agent's identity Secret there and register it again"}
	}
	if known.TokenID != token.ID && (token.Bootstrap.UsesLeft <= 0 || (token.ClusterID != "" && token.ClusterID != known.ClusterID)) {
		return Enrolled{}, errcode.New(errcode.Conflict, "this agent is registered as cluster %s already", known.ClusterName)
	}
	known, err := d.shiftBoot(ctx, known, r.BootID)
	if err != nil {
		return Enrolled{}, err
	}
	return d.clusters.Enroll(ctx, Enrollment{
		ClusterID: known.ClusterID, ClusterUID: known.ClusterUID, AgentVersion: r.AgentVersion, By: token.OwnerName,
	})
}

// releaseKey deletes the key of a fixed cluster to allow a new one: the same cluster
// may come back with a new key, for example when its agent's namespace was deleted.
func (d *Directory) releaseKey(ctx context.Context, token Token, r Registration) error {
	known, err := d.store.AgentKey(ctx, token.ClusterID)
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
	tokens, err := d.store.ClusterTokens(ctx, token.ClusterID)
	if err != nil {
		return err
	}
	var ids []string
	for _, t := range tokens {
		if t.Kind == TokenDeploy {
			ids = append(ids, t.ID)
			if err := event.Append(ctx, change(t)); err != nil {
				return err
			}
		}
	}
	return d.store.DeleteTokens(ctx, ids)
}

// maxDeployTokens limits the deploy tokens of one cluster whose answers were lost.
const maxDeployTokens = 8

// mintDeploy creates a deploy token. Its predecessors stay valid until it is
// used, so that a lost answer cannot lock an agent out.
func (d *Directory) mintDeploy(ctx context.Context, clusterID, clusterName string) (CreatedToken, error) {
	tokens, err := d.store.ClusterTokens(ctx, clusterID)
	if err != nil {
		return CreatedToken{}, err
	}
	made := d.mint(Token{Kind: TokenDeploy, Name: "deploy " + clusterName, ClusterID: clusterID, ClusterName: clusterName}, deployLifetime)
	kept := 0
	var old []string
	for _, t := range tokens { // newest first
		if t.Kind != TokenDeploy {
			continue
		}
		if made.CreatedAt <= t.CreatedAt { // a clock that stepped back
			made.CreatedAt = t.CreatedAt + 1
		}
		if kept++; kept >= maxDeployTokens || t.expired(made.CreatedAt) {
			old = append(old, t.ID)
			if err := event.Append(ctx, change(t)); err != nil {
				return CreatedToken{}, err
			}
		}
	}
	if err := d.store.DeleteTokens(ctx, old); err != nil {
		return CreatedToken{}, err
	}
	if err := d.store.InsertToken(ctx, made.Token); err != nil {
		return CreatedToken{}, err
	}
	return made, event.Append(ctx, change(made.Token))
}

// show records a problem on its cluster and turns it into a Conflict.
func (d *Directory) show(ctx context.Context, err error) error {
	var p *problem
	if !errors.As(err, &p) {
		return err
	}
	noted := d.writer.Write(ctx, func(ctx context.Context) error {
		k, err := d.store.AgentKey(ctx, p.clusterID)
		if err != nil {
			return err
		}
		k.ConflictAt = d.now()
		if err := d.store.PutAgentKey(ctx, k); err != nil {
			return err
		}
		return d.clusters.SetIdentityProblem(ctx, p.clusterID, p.text)
	})
	if noted != nil {
		d.log.Warn("a conflict of identities cannot be noted", logkey.Cluster, p.clusterID, logkey.Error, noted)
	}
	return errcode.New(errcode.Conflict, "%s", p.text)
}
