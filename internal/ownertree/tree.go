package ownertree

import (
	"cmp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/kubehealth"
)

// Object is one of a cluster, as far as a tree shows it.
type Object struct {
	Group, Version, Kind, Namespace, Name, UID string
	// Health is one of the words of kubehealth, or empty.
	Health, Message string
	// Synced is whether a root is as its service wants it.
	Synced bool
	// Created is in microseconds since 1970 UTC, zero when it is not known.
	Created int64
}

// Node is an object and what it owns.
type Node struct {
	Object
	// Failing marks the way to the first object that fails.
	Failing  bool
	Children []*Node

	idle bool
}

// Tree is what the objects of a service own.
type Tree struct {
	Roots []*Node
	// Failing says in one line which object fails first and why, by the way to
	// it. Empty when all are well.
	Failing string
	// Notes say what was not looked at, and why.
	Notes []string
}

// tidy removes the ReplicaSets of earlier revisions, which own nothing, and
// orders the rest.
func tidy(nodes []*Node) []*Node {
	nodes = slices.DeleteFunc(nodes, func(n *Node) bool { return n.idle && len(n.Children) == 0 })
	for _, n := range nodes {
		n.Children = tidy(n.Children)
		slices.SortFunc(n.Children, func(a, b *Node) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
		})
	}
	return nodes
}

// bad reports whether an object waits to be well, or fails.
func (n *Node) bad() bool {
	switch kubehealth.Status(n.Health) {
	case "", kubehealth.Healthy, kubehealth.Suspended:
		return false
	}
	return true
}

// worst is how bad it is at the end of the ways over objects that are not well.
// What fails below one that is well is no reason: a pod of a Job that went well
// at its second try.
func (n *Node) worst() kubehealth.Status {
	if !n.bad() {
		return kubehealth.Healthy
	}
	status := kubehealth.Status(n.Health)
	for _, c := range n.Children {
		status = kubehealth.Worst(status, c.worst())
	}
	return status
}

// blame marks the way to the first object that fails and says why it does. Of
// several that are as bad it is the newest, which is of the newest revision.
func (t *Tree) blame() {
	var way []string
	reason := ""
	for nodes := t.Roots; ; {
		var first *Node
		for _, n := range nodes {
			if n.bad() && (first == nil || cmp.Or(kubehealth.Compare(n.worst(), first.worst()), cmp.Compare(n.Created, first.Created)) > 0) {
				first = n
			}
		}
		if first == nil {
			break
		}
		first.Failing = true
		way = append(way, first.Kind+" "+first.Name)
		reason = cmp.Or(first.Message, reason, first.Health)
		nodes = first.Children
	}
	if way != nil {
		t.Failing = strings.Join(way, " > ") + ": " + reason
	}
}
