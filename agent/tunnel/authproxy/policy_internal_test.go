package authproxy

import (
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

// Every limit holds by itself, whatever the others say.
func TestEachLimitOfAPolicyHolds(t *testing.T) {
	const pods, deploy = "/api/v1/namespaces/shop/pods", "/apis/apps/v1/namespaces/shop/deployments/web"
	const console = "/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachineinstances/vm/console"
	for name, test := range map[string]struct {
		policy  Policy
		request string
		groups  []string
		allowed bool
	}{
		"no limit":                        {Policy{}, "DELETE " + pods, nil, true},
		"full":                            {Policy{Mode: Full}, "DELETE " + pods, nil, true},
		"off":                             {Policy{Mode: Off}, "GET /version", nil, false},
		"read: a list":                    {Policy{Mode: Read}, "GET " + pods, nil, true},
		"read: a delete":                  {Policy{Mode: Read}, "DELETE " + pods + "/x", nil, false},
		"read: exec":                      {Policy{Mode: Read}, "GET " + pods + "/x/exec", nil, false},
		"read: writing to another path":   {Policy{Mode: Read}, "POST /version", nil, false},
		"read: a console":                 {Policy{Mode: Read}, "GET " + console, nil, true},
		"read: an opened console":         {Policy{Mode: Read}, "GET " + console + " websocket", nil, false},
		"read: an opened list":            {Policy{Mode: Read}, "GET " + pods + " websocket", nil, false},
		"read: an opened watch":           {Policy{Mode: Read}, "GET " + pods + "?watch=1 websocket", nil, true},
		"read: an opened log":             {Policy{Mode: Read}, "GET " + pods + "/x/log?follow=1 websocket", nil, true},
		"read: another path, opened":      {Policy{Mode: Read}, "GET /version SPDY/3.1", nil, false},
		"verbs: an opened console":        {Policy{Verbs: []string{"get", "list", "watch", "exec", "attach", "portforward", "proxy"}}, "GET " + console + " websocket", nil, false},
		"verbs: connect":                  {Policy{Verbs: []string{"connect"}}, "GET " + console + " websocket", nil, true},
		"verbs: another path, opened":     {Policy{Verbs: []string{"get"}}, "GET /openapi/v3 websocket", nil, false},
		"verbs: its own":                  {Policy{Verbs: []string{"get"}}, "GET " + deploy, nil, true},
		"verbs: another":                  {Policy{Verbs: []string{"get"}}, "PATCH " + deploy, nil, false},
		"verbs: get is not exec":          {Policy{Verbs: []string{"get"}}, "GET " + pods + "/x/exec", nil, false},
		"verbs: another path is written":  {Policy{Verbs: []string{"get", "create"}}, "POST /version", nil, false},
		"verbs: another path is read":     {Policy{Verbs: []string{"list"}}, "GET /openapi/v3", nil, true},
		"namespaces: its own":             {Policy{Namespaces: []string{"shop"}}, "GET " + pods, nil, true},
		"namespaces: another":             {Policy{Namespaces: []string{"lab"}}, "GET " + pods, nil, false},
		"namespaces: all":                 {Policy{Namespaces: []string{"shop"}}, "GET /api/v1/pods", nil, false},
		"namespaces: of none":             {Policy{Namespaces: []string{"shop"}}, "GET /api/v1/nodes", nil, false},
		"namespaces: other path, written": {Policy{Namespaces: []string{"shop"}}, "POST /logs", nil, false},
		"API groups: its own":             {Policy{APIGroups: []string{"apps"}}, "GET " + deploy, nil, true},
		"API groups: the core's":          {Policy{APIGroups: []string{"apps"}}, "GET " + pods, nil, false},
		"API groups: other path, written": {Policy{APIGroups: []string{"apps"}}, "PUT /x", nil, false},
		"people: in":                      {Policy{Groups: []string{"ops"}}, "GET " + pods, []string{"dev", "ops"}, true},
		"people: out":                     {Policy{Groups: []string{"ops"}}, "GET " + pods, []string{"dev"}, false},
		"people: in none":                 {Policy{Groups: []string{"ops"}}, "GET /version", nil, false},
		"two: one holds":                  {Policy{Verbs: []string{"list"}, Namespaces: []string{"lab"}}, "GET " + pods, nil, false},
	} {
		method, uri, _ := strings.Cut(test.request, " ")
		uri, upgrade, _ := strings.Cut(uri, " ")
		err := test.policy.allow(kubereq.Parse(method, uri, upgrade), test.groups)
		if (err == nil) != test.allowed || err != nil && !errcode.Is(err, errcode.Forbidden) {
			t.Errorf("%s: %v, want it allowed: %v", name, err, test.allowed)
		}
	}
}

// Names get the cluster's prefix, and only the groups that were let in go
// along.
func TestWhomTheAPIServerSees(t *testing.T) {
	for name, test := range map[string]struct {
		policy Policy
		user   string
		groups []string
	}{
		"as the hub says": {Policy{}, "ann", []string{"dev", "ops", AdminsGroup}},
		"with a prefix":   {Policy{Prefix: "hub:"}, "hub:ann", []string{"hub:dev", "hub:ops", AdminsGroup}},
		"some groups":     {Policy{Groups: []string{"ops"}}, "ann", []string{"ops"}},
		"both":            {Policy{Groups: []string{"ops"}, Prefix: "hub:"}, "hub:ann", []string{"hub:ops"}},
	} {
		user, groups := test.policy.as("ann", []string{"dev", "ops", AdminsGroup})
		if user != test.user || !slices.Equal(groups, test.groups) {
			t.Errorf("%s: %q of %q, want %q of %q", name, user, groups, test.user, test.groups)
		}
	}
}

// A prefix with which a hub's group would read like one that the hub alone gives takes
// that group away; the real one, and other groups, stay.
func TestPrefixMakesNoGroupOfTheHub(t *testing.T) {
	for name, test := range map[string]struct {
		prefix string
		groups []string
		want   []string
	}{
		"administrators":         {"axle:", []string{"admins", "dev"}, []string{"axle:dev"}},
		"the real ones":          {"axle:", []string{"admins", AdminsGroup}, []string{AdminsGroup}},
		"a right in the cluster": {"axle:", []string{"cluster:admin", "dev"}, []string{"axle:dev"}},
		"a longer prefix":        {"axle:cluster:", []string{"admin", "dev"}, nil},
		"a shorter prefix":       {"axle", []string{":admins", ":cluster:admin", "s"}, []string{"axles"}},
		"a group of kubeadm":     {"kube", []string{"adm:cluster-admins", "dev"}, []string{"kubedev"}},
		"an owner's own prefix":  {"eks:", []string{"dev"}, []string{"eks:dev"}},
		"no prefix, real ones":   {"", []string{"admins", AdminsGroup, hubRights + "read"}, []string{"admins", AdminsGroup, hubRights + "read"}},
	} {
		for _, limits := range [][]string{nil, test.groups} {
			if _, got := (Policy{Prefix: test.prefix, Groups: limits}).as("ann", test.groups); !slices.Equal(got, test.want) {
				t.Errorf("%s: prefix %q makes %q of %q, want %q", name, test.prefix, got, test.groups, test.want)
			}
		}
	}
}

func TestPoliciesThatAreNone(t *testing.T) {
	for name, p := range map[string]Policy{
		"a mode": {Mode: "some"}, "a verb": {Verbs: []string{"gett"}}, "a prefix": {Prefix: "System:"},
	} {
		if err := p.Check(); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
