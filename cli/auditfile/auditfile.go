// Package auditfile handles the audit log as files on a person's machine: exports,
// and checkpoints stored where people with write access to the hub's database cannot
// write. It requests them from the hub and has the hub compare its log with them;
// internal/hashchain verifies exports. cli/audit calls it.
package auditfile

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/hashchain"
	"github.com/axle-cd/axle/sdk"
)

// Write writes all records above a seq as JSON lines, each checkpoint after its
// record.
func Write(ctx context.Context, client *sdk.Client, out io.Writer, after int64) error {
	all, err := client.Audit.Checkpoints(ctx, connect.NewRequest(&hubv1.ListAuditCheckpointsRequest{}))
	if err != nil {
		return err
	}
	points := map[int64]*hubv1.AuditCheckpoint{}
	for _, c := range all.Msg.GetCheckpoints() {
		if c.GetKind() == hashchain.KindSeen {
			points[c.GetSeq()] = c
		}
	}
	lines := json.NewEncoder(out)
	for {
		page, err := client.Audit.List(ctx, connect.NewRequest(&hubv1.ListAuditRequest{After: after, OldestFirst: true, Limit: 1000}))
		if err != nil {
			return err
		}
		for _, r := range page.Msg.GetRecords() {
			after = r.GetSeq()
			line := hashchain.Line{Sequence: r.GetSeq(), Previous: r.GetPrev(), Hash: r.GetHash(), Record: json.RawMessage(r.GetRecord())}
			if err := lines.Encode(hashchain.Exported{Line: &line}); err != nil {
				return err
			}
			if p := points[after]; p != nil {
				c := checkpoint(p)
				if err := lines.Encode(hashchain.Exported{Checkpoint: &c}); err != nil {
					return err
				}
			}
		}
		if len(page.Msg.GetRecords()) == 0 {
			return nil
		}
	}
}

func checkpoint(p *hubv1.AuditCheckpoint) hashchain.Checkpoint {
	return hashchain.Checkpoint{
		Kind: p.GetKind(), Sequence: p.GetSeq(), Hash: p.GetHash(), At: p.GetAt(), Newest: p.GetNewest(), KeyID: p.GetKeyId(), Signature: p.GetSignature(),
	}
}

// Append appends a checkpoint as one line to a file, synced to disk, or writes it to
// out if path is empty. A last line of the file that was not written to its end is ended
// first, and reported to warn.
func Append(path string, out, warn io.Writer, p *hubv1.AuditCheckpoint) (err error) {
	line, err := json.Marshal(checkpoint(p))
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if path == "" {
		_, err = out.Write(line)
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return errcode.New(errcode.Invalid, "store the checkpoint: %w", err)
	}
	if unended(path) {
		fmt.Fprintf(warn, "the last line of %s had no end, as after a full disk; the checkpoint is on a line of its own\n", path)
		line = append([]byte("\n"), line...)
	}
	_, err = f.Write(line)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errcode.New(errcode.Unavailable, "store the checkpoint: %w", err)
	}
	return nil
}

// unended reports whether the last line of a file has no end. Of a file that may only be
// appended to, or is none, nobody can know it. Commands that append at once may see a line of
// each other that is on its way: the empty line that follows is nothing.
func unended(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	last := make([]byte, 1)
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	} else if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return false
	}
	return last[0] != '\n'
}

// Read returns the checkpoints of a file; none if path is empty. Lines that were not written
// to their ends are none, and reported to warn. Invalid names the invalid line.
func Read(path string, warn io.Writer) ([]hashchain.Checkpoint, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "read the checkpoints: %w", err)
	}
	defer f.Close()
	all, torn, err := hashchain.ReadCheckpoints(f)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%s: %w", path, err)
	}
	for _, line := range torn {
		fmt.Fprintf(warn, "line %d of %s was not written to its end and is left out\n", line, path)
	}
	if len(all) == 0 {
		return nil, errcode.New(errcode.Invalid, "%s contains no checkpoint; axle audit checkpoint --file %[1]s writes one", path)
	}
	return all, nil
}

// Verified is a valid chain at the hub.
type Verified struct {
	// Records is the number of checked records, after From and up to To with its
	// Hash.
	Records, From, To int64
	Hash              string
}

// VerifyHub has the hub check its whole log, which must contain the stored
// checkpoints. Conflict names the first invalid record.
func VerifyHub(ctx context.Context, client *sdk.Client, kept []hashchain.Checkpoint) (out Verified, err error) {
	at := &hubv1.VerifyAuditRequest{}
	for _, c := range kept {
		at.Checkpoints = append(at.Checkpoints, &hubv1.AuditCheckpoint{
			Kind: c.Kind, Seq: c.Sequence, Hash: c.Hash, At: c.At, Newest: c.Newest, KeyId: c.KeyID, Signature: c.Signature,
		})
	}
	for first := true; ; first = false {
		v, err := client.Audit.Verify(ctx, connect.NewRequest(at))
		if err != nil {
			return out, err
		}
		if first {
			out.From = v.Msg.GetFrom()
		}
		out.Records, out.To, out.Hash = out.Records+v.Msg.GetRecords(), v.Msg.GetSeq(), v.Msg.GetHash()
		switch {
		case v.Msg.GetBroken() != 0:
			return out, errcode.New(errcode.Conflict, "the audit log was changed at record %d: %s", v.Msg.GetBroken(), v.Msg.GetReason())
		case v.Msg.GetDone():
			return out, nil
		case v.Msg.GetSeq() == at.GetSeq():
			return out, errcode.New(errcode.Unavailable, "the hub stopped checking at record %d; try again", at.GetSeq())
		}
		at.Seq, at.Hash = v.Msg.GetSeq(), v.Msg.GetHash()
	}
}

// Keys requests from the hub the keys that may have signed checkpoints, in hex by id.
func Keys(ctx context.Context, client *sdk.Client) (map[string]string, error) {
	all, err := client.Audit.Checkpoints(ctx, connect.NewRequest(&hubv1.ListAuditCheckpointsRequest{}))
	if err != nil {
		return nil, err
	}
	return all.Msg.GetKeys(), nil
}

// ParseKeys parses keys in hex by id. Without keys it returns nil, so that no
// signature is checked.
func ParseKeys(given map[string]string) (map[string]ed25519.PublicKey, error) {
	if len(given) == 0 {
		return nil, nil
	}
	keys := map[string]ed25519.PublicKey{}
	for id, text := range given {
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("%s is not ID=HEX with %d bytes", id, ed25519.PublicKeySize)
		}
		keys[id] = key
	}
	return keys, nil
}

// Terms say what to compare an export with.
type Terms struct {
	// Keys verify checkpoints; nil skips their signatures.
	Keys map[string]ed25519.PublicKey
	// Kept are checkpoints stored elsewhere.
	Kept []hashchain.Checkpoint
	// In is read for the path -; Warn receives warnings.
	In   io.Reader
	Warn io.Writer
}

// Verify checks an export. Conflict names the first changed record, or says that the
// export has gaps.
func Verify(path string, t Terms) (hashchain.Result, error) {
	in := t.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return hashchain.Result{}, errcode.New(errcode.Invalid, "read the export: %w", err)
		}
		defer f.Close()
		in = f
	}
	result, err := hashchain.Verify(in, t.Keys, t.Kept...)
	var broken *hashchain.Broken
	if errors.As(err, &broken) {
		return result, errcode.New(errcode.Conflict, "the export was changed at record %d: %s", broken.Sequence, broken.Reason)
	}
	if err != nil {
		return result, fmt.Errorf("read the export: %w", err)
	}
	for _, g := range result.Gaps {
		fmt.Fprintf(t.Warn, "records %d to %d are missing: %s\n", g.From, g.To, g.Reason)
	}
	if result.Unknown > 0 {
		fmt.Fprintf(t.Warn, "%d checkpoints are signed with unknown keys; give these with --key\n", result.Unknown)
	}
	if len(result.Gaps) > 0 {
		return result, errcode.New(errcode.Conflict, "the export has gaps; the rest is valid: %s", result)
	}
	return result, nil
}
