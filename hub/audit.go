package hub

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/internal/errcode"
)

// auditFile stores how far this replica has seen the audit log.
const auditFile = "audit-checkpoint.json"

// newAudit creates the audit log.
func (h *Hub) newAudit() (*audit.Log, error) {
	sink, err := h.config.auditSink()
	if err != nil {
		return nil, err
	}
	return audit.New(audit.Config{
		Sink: sink, SinkName: h.auditSinkName(),
		Chain: h.store, Checkpoints: h.store, Cursors: h.store, Signer: h.callers.Signer, Retention: h.config.AuditRetention, Kept: filepath.Join(h.config.DataDir, auditFile),
		Pools: h.pools, Clock: h.config.Clock, Log: h.log,
	})
}

// auditSendTimeout limits one request to the sink of the audit log.
const auditSendTimeout = 30 * time.Second

// auditSink returns the sink of --audit-export, nil for none.
func (c Config) auditSink() (audit.Sink, error) {
	target := c.AuditExport
	if target == "" {
		if c.AuditExportToken != "" {
			return nil, errcode.New(errcode.Invalid, "--audit-export-token-file is for --audit-export, which is not set")
		}
		return nil, nil
	}
	if !c.auditGoesToURL() {
		if c.AuditExportToken != "" {
			return nil, errcode.New(errcode.Invalid, "--audit-export-token-file is for a URL, and --audit-export is a file")
		}
		return &audit.FileSink{Path: target}, nil
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return nil, errcode.New(errcode.Invalid, "--audit-export is neither a file's path nor an https:// URL without a user; a token for it goes into --audit-export-token-file")
	}
	return &audit.HTTPSink{URL: target, TokenFile: c.AuditExportToken, Client: &http.Client{
		Timeout:       auditSendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// auditSinkName is the name under which the sink's position is stored: a file
// belongs to this replica, a URL to the whole hub.
func (h *Hub) auditSinkName() string {
	if h.config.AuditExport == "" || h.config.auditGoesToURL() {
		return h.config.AuditExport
	}
	return h.replica + ":" + h.config.AuditExport
}

func (c Config) auditGoesToURL() bool { return strings.Contains(c.AuditExport, "://") }

// exportHere copies the audit log to this replica's file.
func (h *Hub) exportHere(ctx context.Context) error {
	if h.config.auditGoesToURL() {
		<-ctx.Done()
		return nil
	}
	return h.audit.Export(ctx)
}

// exportForAll copies it to a URL, on one replica at a time.
func (h *Hub) exportForAll(ctx context.Context) error {
	if !h.config.auditGoesToURL() {
		<-ctx.Done()
		return nil
	}
	return h.audit.Export(ctx)
}
