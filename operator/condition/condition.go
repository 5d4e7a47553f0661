// Package condition has the conditions of the statuses that the operator writes, their
// reasons, and how one is set. It reads and writes nothing; the controllers use it.
//
// Invariant: a message has at most 2,048 bytes, as the hub's answers may be longer than
// what an object should hold.
package condition

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Types of conditions.
const (
	Ready                 = "Ready"
	Synchronized          = "Synchronized"
	Readonly              = "Readonly"
	NamespacedCredentials = "NamespacedCredentials"
	Supported             = "Supported"
)

// Reasons of conditions, and of events. Those that are named like a type are its
// reason when it is True.
const (
	Deleting           = "Deleting"
	Error              = "Error"
	NotFound           = "NotFound"
	DefaultCredentials = "DefaultCredentials"
)

const maxMessage = 2048

// Set sets a condition of an object.
func Set(of client.Object, conditions *[]metav1.Condition, name string, is bool, reason, message string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	message = message[:min(len(message), maxMessage)]
	meta.SetStatusCondition(conditions, metav1.Condition{Type: name, Status: status, Reason: reason, Message: message, ObservedGeneration: of.GetGeneration()})
}
