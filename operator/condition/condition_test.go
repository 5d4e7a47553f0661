package condition_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/condition"
)

// A long answer of the hub is cut, and the condition is of the object's generation.
func TestSetBoundsTheMessage(t *testing.T) {
	object := &v1alpha1.Project{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	var all []metav1.Condition
	condition.Set(object, &all, condition.Ready, false, condition.Error, strings.Repeat("x", 5000))
	if len(all) != 1 || len(all[0].Message) != 2048 || all[0].Status != metav1.ConditionFalse || all[0].ObservedGeneration != 7 {
		t.Errorf("%+v", all)
	}
	condition.Set(object, &all, condition.Ready, true, condition.Ready, "short")
	if len(all) != 1 || all[0].Message != "short" || all[0].Status != metav1.ConditionTrue {
		t.Errorf("%+v", all)
	}
}
