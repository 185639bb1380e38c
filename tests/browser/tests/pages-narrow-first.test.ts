import { testEveryPage } from '../support/everyPage';

testEveryPage('phone');
