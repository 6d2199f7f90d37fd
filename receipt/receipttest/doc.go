// Package receipttest is the suite that every implementation of receipt.Store
// has to pass. An implementation calls it from a test of its own:
//
//	func TestStore(t *testing.T) {
//		receipttest.TestStore(t, func(t *testing.T) receipt.Store {
//			return newEmptyStore(t, receipttest.Target)
//		})
//	}
//
// It covers what receipt.Store documents. What happens when a process is
// killed, and how what was damaged is reported, depends on how a store keeps its
// receipts: that is for tests of its own.
package receipttest
