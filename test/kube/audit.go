package kube

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// AuditEvent is one record of the API server's audit log. A request leaves one
// record when it is answered; a watch leaves one when it is opened
// (ResponseStarted) and another when it is closed (ResponseComplete).
type AuditEvent struct {
	AuditID string `json:"auditID"`
	Stage   string `json:"stage"`
	Verb    string `json:"verb"`
	URI     string `json:"requestURI"`
	User    struct {
		Name   string   `json:"username"`
		Groups []string `json:"groups"`
	} `json:"user"`
	// As is whom the user impersonated, empty without impersonation.
	As struct {
		Name   string   `json:"username"`
		Groups []string `json:"groups"`
	} `json:"impersonatedUser"`
	UserAgent string `json:"userAgent"`
	Object    struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Group       string `json:"apiGroup"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

// AuditEvents are records in the order in which they were written.
type AuditEvents []AuditEvent

// ByUser keeps the records of one user's requests. A service account's name is
// system:serviceaccount:<namespace>:<name>.
func (e AuditEvents) ByUser(user string) AuditEvents {
	return e.where(func(a AuditEvent) bool { return a.User.Name == user })
}

// ByUserAgent keeps the records whose client named itself exactly so.
func (e AuditEvents) ByUserAgent(agent string) AuditEvents {
	return e.where(func(a AuditEvent) bool { return a.UserAgent == agent })
}

// Requests keeps one record for each request that was made: a watch counts
// where it was opened, and its closing is left out.
func (e AuditEvents) Requests() AuditEvents {
	seen := map[string]bool{}
	return e.where(func(a AuditEvent) bool {
		if a.Verb == "watch" && a.Stage == "ResponseComplete" && a.Response.Code < 400 || seen[a.AuditID] {
			return false
		}
		seen[a.AuditID] = true
		return true
	})
}

func (e AuditEvents) where(keep func(AuditEvent) bool) AuditEvents {
	var kept AuditEvents
	for _, event := range e {
		if keep(event) {
			kept = append(kept, event)
		}
	}
	return kept
}

// String is a line a record, for a failing test to show.
func (e AuditEvents) String() string {
	text := ""
	for _, a := range e {
		text += fmt.Sprintf("%s %s %s %s -> %d\n", a.User.Name, a.Stage, a.Verb, a.URI, a.Response.Code)
	}
	return text
}

// AuditMark is the present end of the audit log, to be given to AuditSince. A record
// that is still being written is after it.
func (c *Cluster) AuditMark() (int64, error) {
	f, err := os.Open(c.path("audit.log"))
	if errors.Is(err, os.ErrNotExist) && c.cfg.Audit {
		return 0, nil
	}
	if err != nil {
		return 0, c.auditError(err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	block := make([]byte, 64<<10)
	for err == nil && end > 0 {
		begin := max(0, end-int64(len(block)))
		part := block[:end-begin]
		if _, err = f.ReadAt(part, begin); err != nil {
			break
		}
		if at := bytes.LastIndexByte(part, '\n'); at >= 0 {
			return begin + int64(at) + 1, nil
		}
		end = begin
	}
	if err != nil {
		return 0, c.auditError(err)
	}
	return 0, nil
}

// Audit returns all records so far.
func (c *Cluster) Audit() (AuditEvents, error) { return c.AuditSince(c.audited) }

// AuditSince returns the records written after the mark was taken. They include every
// request that was already answered.
func (c *Cluster) AuditSince(mark int64) (AuditEvents, error) {
	if !c.cfg.Audit {
		return nil, c.auditError(os.ErrNotExist)
	}
	f, err := os.Open(c.path("audit.log"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, c.auditError(err)
	}
	defer f.Close()
	if _, err := f.Seek(mark, io.SeekStart); err != nil {
		return nil, c.auditError(err)
	}
	var events AuditEvents
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF { // a line without its end is still being written
			return events, nil
		}
		if err != nil {
			return nil, c.auditError(err)
		}
		var event AuditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, c.auditError(err)
		}
		events = append(events, event)
	}
}

func (c *Cluster) auditError(err error) error {
	if !c.cfg.Audit {
		return fmt.Errorf("cluster %s keeps no audit log: set ClusterConfig.Audit", c.cfg.Name)
	}
	return fmt.Errorf("read the audit log of cluster %s: %w", c.cfg.Name, err)
}
