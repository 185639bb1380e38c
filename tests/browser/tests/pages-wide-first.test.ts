import { testPages } from '../support/everyPage';

testPages(1, 'desktop', 'phone');
