package authproxy_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/kubereq"
)

// verbs are requests of every kind, and whether they read. UPGRADE is played with each
// protocol; TestEveryVerbHasARow holds the table to what kubereq knows.
var verbs = map[string]bool{
	"GET /api/v1/namespaces/a/secrets": true, "GET /api/v1/namespaces/a/secrets/b": true, "GET /api/v1/secrets?watch=1": true, "GET /version": true, "HEAD /healthz": true,
	"GET /api/v1/namespaces/a/pods/b/log?follow=1": true, "UPGRADE /api/v1/namespaces/a/pods/b/log?follow=1": true, "UPGRADE /api/v1/pods?watch=1": true,
	"POST /api/v1/namespaces/a/pods": false, "PUT /api/v1/namespaces/a/pods/b": false, "PATCH /api/v1/namespaces/a/pods/b": false, "DELETE /api/v1/namespaces/a/pods/b": false,
	"DELETE /api/v1/namespaces/a/pods": false, "POST /version": false, "OPTIONS /api/v1/pods": false,
	"POST /api/v1/namespaces/a/pods/b/eviction": false, "POST /api/v1/namespaces/a/pods/b/binding": false, "POST /api/v1/namespaces/a/serviceaccounts/b/token": false,
	"PATCH /apis/apps/v1/namespaces/a/deployments/b/scale": false, "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews": false,
	"PUT /api/v1/namespaces/a/pods/b/ephemeralcontainers": false, "POST /apis/certificates.k8s.io/v1/certificatesigningrequests": false,
	"UPGRADE /api/v1/namespaces/a/pods/b/exec?command=sh": false, "GET /api/v1/namespaces/a/pods/b/exec?command=sh": false, "UPGRADE /api/v1/namespaces/a/pods/b/attach": false,
	"GET /api/v1/namespaces/a/pods/b/attach": false, "GET /api/v1/namespaces/a/pods/b/portforward": false,
	"UPGRADE /api/v1/namespaces/a/pods/b/portforward": false, "UPGRADE /api/v1/namespaces/a/services/b/proxy/ws": false, "GET /api/v1/namespaces/a/services/b/proxy/": false,
	"GET /api/v1/nodes/n/proxy/run": false, "UPGRADE /apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/console": false,
	"UPGRADE /apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/vnc": false, "UPGRADE /apis/example.com/v1/anything": false,
	"UPGRADE /api/v1/namespaces/a/pods": false, "UPGRADE /api/v1/namespaces/a/pods/b/status": false, "UPGRADE /version": false,
	"UPGRADE /api/v1/namespaces/a/pods/b/log/exec?watch=1": true,
}

// over are the methods, with the protocol of an upgrade, by which a request is sent.
func over(method string) (all []string) {
	if method != "UPGRADE" {
		return []string{method}
	}
	for _, protocol := range kubereq.Protocols {
		all = append(all, http.MethodGet+"+"+protocol)
	}
	return all
}

// TestEveryVerbHasARow: a method, a verb or a way to connect that the proxy learns to
// tell from others has to be in the table of rights.
func TestEveryVerbHasARow(t *testing.T) {
	rows := map[string]bool{}
	for request := range verbs {
		row, path, _ := strings.Cut(request, " ")
		for _, way := range over(row) {
			method, protocol, _ := strings.Cut(way, "+")
			info := kubereq.Parse(method, path, protocol)
			rows[method], rows[info.Action()+" by "+row] = true, true
			if protocol == "" {
				rows[info.Action()] = true
			}
		}
	}
	for _, method := range kubereq.Methods {
		if !rows[method] {
			t.Errorf("no row has the method %s", method)
		}
	}
	for _, action := range kubereq.Actions() {
		connects := action == kubereq.Connect || kubereq.Parse(http.MethodGet, "/api/v1/namespaces/a/pods/b/"+action, "").Connects()
		if action != kubereq.Connect && !rows[action] {
			t.Errorf("no row has the verb %s", action)
		}
		if connects && !rows[action+" by UPGRADE"] {
			t.Errorf("no row upgrades to %s", action)
		}
	}
}
